# SPDX-License-Identifier: Apache-2.0
"""Addresses that can be leased, as operators and members meet them."""

import pytest

from nova_reservations.testing import fake_networks

NEW = {
    'floating_network_id': fake_networks.EXTERNAL,
    'floating_ip_address': '203.0.113.101',
}


@pytest.fixture
def settings(settings):
    settings.set_override(
        'resource_types',
        ['physical:host', 'virtual:floatingip'],
        group='reservations',
    )
    return settings


@pytest.fixture(autouse=True)
def network(cloud):
    external = fake_networks.external()
    cloud.networks_known[external.id] = external


def test_an_operator_adds_shows_and_removes_an_address(admin, member):
    made = admin('POST', '/floatingips', NEW)
    assert made.status_int == 201, made.text
    [key] = [made.json['floatingip']['id']]
    assert made.json == {
        'floatingip': {
            **NEW,
            'id': key,
            'subnet_id': fake_networks.SUBNET,
            'reservable': True,
            'created_at': '2030-05-17 10:30:25',
            'updated_at': None,
        }
    }
    listed = member('GET', '/floatingips')
    assert listed.json == {'floatingips': [made.json['floatingip']]}
    assert member('GET', f'/floatingips/{key}').json == made.json
    assert admin('DELETE', f'/floatingips/{key}').status_int == 204
    gone = member('GET', f'/floatingips/{key}')
    assert gone.status_int == 404
    assert gone.json['error_message'] == (
        f'Floating IP {key} could not be found'
    )
    assert admin('GET', '/floatingips/a').status_int == 404


def test_members_neither_add_nor_remove(admin, member):
    assert member('POST', '/floatingips', NEW).status_int == 403
    key = admin('POST', '/floatingips', NEW).json['floatingip']['id']
    assert member('DELETE', f'/floatingips/{key}').status_int == 403


@pytest.mark.parametrize(
    ('changes', 'status'),
    [
        ({'floating_ip_address': 'a house'}, 400),
        ({'floating_ip_address': '203.0.113.7'}, 400),
        ({'floating_ip_address': '198.51.100.1'}, 404),
        ({'floating_network_id': 'unknown'}, 400),
        ({'more': 1}, 400),
    ],
)
def test_what_can_not_be_leased_is_refused_with_a_reason(
    admin, changes, status
):
    refused = admin('POST', '/floatingips', NEW | changes)
    assert refused.status_int == status
    assert refused.json['error_message']


def test_an_address_that_is_leased_stays(admin, member):
    key = admin('POST', '/floatingips', NEW).json['floatingip']['id']
    assert admin('POST', '/floatingips', NEW).status_int == 409
    lease = member.lease(
        reservations=[
            {
                'resource_type': 'virtual:floatingip',
                'network_id': fake_networks.EXTERNAL,
                'amount': '1',
                'required_floatingips': ['203.0.113.101'],
            }
        ]
    )
    [reservation] = lease['reservations']
    assert reservation['network_id'] == fake_networks.EXTERNAL
    assert reservation['amount'] == 1
    assert reservation['required_floatingips'] == ['203.0.113.101']
    held = admin('DELETE', f'/floatingips/{key}')
    assert held.status_int == 409
    assert lease['id'] in held.json['error_message']


def test_silence_of_neutron_is_said(admin, cloud):
    cloud.neutron_is_silent = True
    answer = admin('POST', '/floatingips', NEW)
    assert answer.status_int == 503
    assert answer.json['error_message'] == (
        'Neutron can not be reached at this moment'
    )
