# SPDX-License-Identifier: Apache-2.0
import decimal

from hypothesis import given
from hypothesis import strategies as st
import pytest

from nova_reservations import exception
from nova_reservations.cloud.slots import slot_flavors
from nova_reservations.tracking import extra_specs

AMOUNTS = st.decimals(0, 10**12 - 1, places=6)


@given(AMOUNTS)
def test_an_amount_is_what_was_written(number):
    assert (
        extra_specs.amount({'reservations:cu': f'{number:f}'}, 'cu') == number
    )


def test_a_flavor_that_says_nothing_asks_nothing():
    specs = {'hw:cpu_policy': 'dedicated', 'cu': '4'}
    assert extra_specs.amounts(specs) == {}
    assert extra_specs.amount(specs, 'cu') == 0


def test_all_that_is_asked_for_is_found():
    specs = {'reservations:cu': '4', 'reservations:my.gpu': '0.5', 'x:y': 'z'}
    assert extra_specs.amounts(specs) == {
        'cu': 4,
        'my.gpu': decimal.Decimal('0.5'),
    }


def test_whose_slots_a_flavor_is_for_is_no_amount():
    key = slot_flavors.RESERVATION_SPEC
    specs = {key: '11111111-1111-4111-8111-111111111111'}
    assert extra_specs.amounts(specs) == {}


@pytest.mark.parametrize(
    'text',
    [
        '',
        '-1',
        '1e3',
        'NaN',
        '1.',
        '.5',
        ' 1',
        '1 ',
        'four',
        '\u0661',
        '9' * 13,
    ],
)
def test_text_that_is_no_amount_is_refused(text):
    with pytest.raises(exception.InvalidInput, match='reservations:cu'):
        extra_specs.amount({'reservations:cu': text}, 'cu')


def test_names_that_can_be_no_resource_are_refused():
    with pytest.raises(exception.InvalidInput):
        extra_specs.amounts({'reservations:': '1'})


@pytest.mark.parametrize(
    ('specs', 'ways'),
    [
        ({}, (0, 0)),
        ({'reservations:bandwidth': '100'}, (100, 100)),
        ({'quota:vif_inbound_average': '1250'}, (10, 0)),
        ({'quota:vif_outbound_average': '125'}, (0, 1)),
        (
            {
                'quota:vif_inbound_average': '1250',
                'reservations:bandwidth': '1',
            },
            (1, 1),
        ),
    ],
)
def test_bandwidth_is_asked_for_by_name_or_as_nova_limits_it(specs, ways):
    assert extra_specs.bandwidth(specs) == ways


def test_units_may_be_asked_of_placement():
    assert extra_specs.cu({'resources:CUSTOM_CU': '4'}) == 4
    assert (
        extra_specs.cu({'resources:CUSTOM_CU': '4', 'reservations:cu': '5'})
        == 5
    )
    with pytest.raises(exception.InvalidInput, match='CUSTOM_CU=x'):
        extra_specs.cu({'resources:CUSTOM_CU': 'x'})
