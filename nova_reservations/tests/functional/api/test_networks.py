# SPDX-License-Identifier: Apache-2.0
"""Segments that can be leased, as Chameleon's clients list and add them."""

import pytest

NEW = {
    'network_type': 'vlan',
    'physical_network': 'physnet1',
    'segment_id': '3001',
    'stitch_provider': 'fabric',
}


@pytest.fixture
def settings(settings):
    settings.set_override(
        'resource_types',
        ['physical:host', 'virtual:network', 'network'],
        group='reservations',
    )
    return settings


def test_an_operator_adds_shows_and_removes_a_segment(admin):
    made = admin('POST', '/networks', NEW)
    assert made.status_int == 201, made.text
    key = made.json['network']['id']
    assert made.json == {
        'network': {
            **NEW,
            'id': key,
            'segment_id': 3001,
            'reservable': True,
            'created_at': '2030-05-17 10:30:25',
            'updated_at': None,
        }
    }
    listed = admin('GET', '/networks')
    assert listed.json == {'networks': [made.json['network']]}
    assert admin('GET', f'/networks/{key}').json == made.json
    assert admin('DELETE', f'/networks/{key}').status_int == 204
    gone = admin('GET', f'/networks/{key}')
    assert gone.status_int == 404
    assert admin('GET', '/networks/a').status_int == 404


@pytest.mark.parametrize(
    ('changes', 'status', 'said'),
    [
        ({'segment_id': 4095}, 400, 'segment_id'),
        ({'segment_id': '4095'}, 400, 'from 1 to 4094'),
        ({'network_type': 'vxlan'}, 400, 'network_type'),
        ({'physical_network': None}, 400, 'physical_network'),
        ({'segment_id': 150}, 400, 'network segment range'),
        ({'id': 'mine'}, 400, 'id'),
    ],
)
def test_a_segment_that_can_not_be_leased_is_refused_with_a_reason(
    admin, cloud, changes, status, said
):
    cloud.vlan_ranges = {'physnet1': [range(100, 200)]}
    refused = admin('POST', '/networks', NEW | changes)
    assert refused.status_int == status
    assert said in refused.json['error_message']


def test_chameleons_clients_lease_one(admin, member, cloud):
    key = admin('POST', '/networks', NEW).json['network']['id']
    assert admin('POST', '/networks', NEW).status_int == 409
    asked = {
        'resource_type': 'network',
        'network_name': 'lab',
        'network_description': '',
        'network_properties': '["==", "$physical_network", "physnet1"]',
        'resource_properties': '["==", "$stitch_provider", "fabric"]',
    }
    lease = member.lease(reservations=[asked])
    [reservation] = lease['reservations']
    assert reservation.items() >= asked.items()
    held = admin('DELETE', f'/networks/{key}')
    assert held.status_int == 409
    assert lease['id'] in held.json['error_message']
    found = member(
        'GET', '/resources/properties?resource_type=virtual:network'
    )
    assert {'property': 'physical_network'} in found.json[
        'resource_properties'
    ]
