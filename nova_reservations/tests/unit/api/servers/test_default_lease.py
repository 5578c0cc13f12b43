# SPDX-License-Identifier: Apache-2.0
import datetime
import types

import pytest

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.api.servers import default_lease

NOW = datetime.datetime(2030, 1, 1, tzinfo=datetime.UTC)


def asked(name, conf):
    """Return the default lease of a server of this name."""
    context = types.SimpleNamespace(project_id='ours', user_id='user')
    return default_lease.asked({'server': {'name': name}}, NOW, context, conf)


@pytest.fixture
def switched_on(opts):
    for name, value in (
        ('default_reservation', True),
        ('resource_types', [objects.HOST, objects.SERVER]),
    ):
        opts.set_override(name, value, 'reservations')
    return opts


def test_a_default_that_can_be_had_is_fine(switched_on):
    default_lease.check(switched_on)


@pytest.mark.parametrize(
    ('name', 'value'),
    [
        ('resource_types', [objects.HOST]),
        ('reservation_length_days', 0),
        ('reservation_start_date', 'tomorrow'),
    ],
)
def test_a_default_that_can_not_be_had_is_named_at_the_start(
    switched_on, name, value
):
    switched_on.set_override(name, value, 'reservations')
    with pytest.raises(exception.ImpossibleDefaults, match=name):
        default_lease.check(switched_on)
    # Impossible defaults are no error as long as the option is off.
    switched_on.set_override('default_reservation', False, 'reservations')
    default_lease.check(switched_on)


def test_a_name_that_can_not_be_stored_is_refused(switched_on):
    with pytest.raises(exception.InvalidInput):
        asked('a\0b', switched_on)


@pytest.mark.parametrize('name', [None, 7, '', ' ', 'x' * 300, 'a\x07'])
def test_a_name_that_nova_refuses_is_left_to_it(switched_on, name):
    assert asked(name, switched_on).name == 'server'


def test_blanks_around_a_name_are_left_out_as_nova_does(switched_on):
    assert asked(' a ', switched_on).name == 'a'


def test_nobody_has_asked_for_it(switched_on):
    assert asked('web', switched_on).by_default
