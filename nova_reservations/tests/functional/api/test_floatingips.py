# SPDX-License-Identifier: Apache-2.0
"""Addresses that can be leased, as operators and members see them."""

from nova import policy as nova_policy
from oslo_policy import policy as oslo_policy
import pytest

from nova_reservations.tests.functional.api import conftest
from nova_reservations.types.neutron import fake_networks

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


@pytest.fixture
def hidden(admin, cloud):
    """The ID of an address in a network that only ``theirs`` sees. Another
    address is in a network that all projects see."""
    network = 'f1d0c6f4-8a0b-4f0e-9a53-0c3dd22a7d11'
    cloud.networks_known[network] = fake_networks.external(id=network)
    cloud.network_projects[network] = {'theirs'}
    admin('POST', '/floatingips', NEW)
    made = admin(
        'POST', '/floatingips', NEW | {'floating_network_id': network}
    )
    return made.json['floatingip']['id']


def test_networks_are_in_lists_of_properties_for_administrators_alone(
    hidden, admin, member
):
    path = '/resources/properties?resource_type=virtual:floatingip&detail=True'
    assert member('GET', path).json == {'resource_properties': []}
    listed = admin('GET', f'{path}&all=True').json['resource_properties']
    values = {each['property']: each['values'] for each in listed}
    assert len(values['network_id']) == 2


def test_nobody_learns_of_networks_by_comparing_them_with_others(
    hidden, member
):
    """Capacity counts the addresses that meet a requirement, so it could tell
    the values of hidden ones."""
    refused = member(
        'GET',
        '/resources/capacity?resource_type=virtual:floatingip'
        '&start=2030-01-01%2008:00&end=2030-01-01%2009:00&step=PT1H'
        '&resource_properties=[">%3D", "$network_id", "8"]',
    )
    assert refused.status_int == 400
    assert 'can be asked by network_id' in str(refused.json)


def test_a_project_sees_addresses_of_networks_alone_that_it_sees(
    hidden, admin, member, stranger
):
    def networks(person):
        listed = person('GET', '/floatingips').json['floatingips']
        return len({each['floating_network_id'] for each in listed})

    path = f'/floatingips/{hidden}'
    seen = {
        person.context.project_id: (
            networks(person),
            person('GET', path).status_int,
        )
        for person in (member, stranger, admin)
    }
    assert seen == {
        'ours': (1, 404),
        'theirs': (2, 200),
        'operators': (2, 200),
    }


def test_neutron_is_asked_once_for_each_network(
    admin, member, cloud, hidden, monkeypatch
):
    admin(
        'POST', '/floatingips', NEW | {'floating_ip_address': '203.0.113.102'}
    )
    asked = []
    find = cloud.networks.find_network

    def count(network_id, project_id=None):
        asked.append(project_id)
        return find(network_id, project_id)

    monkeypatch.setattr(cloud.networks, 'find_network', count)
    member('GET', '/floatingips')
    assert asked == ['ours', 'ours']


@pytest.fixture
def open_to_all():
    anybody = oslo_policy.Rules.from_dict(
        {'reservations:floatingips:index': '@'}
    )
    nova_policy.set_rules(anybody, overwrite=False)
    yield
    nova_policy.reset()


def test_whoever_has_no_project_does_not_see_more_for_that(
    app, hidden, open_to_all
):
    found = conftest.Person(app, None, 'reader')('GET', '/floatingips')
    assert found.status_int == 200, found.text
    [shown] = found.json['floatingips']
    assert shown['floating_network_id'] == fake_networks.EXTERNAL


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
def test_an_address_that_can_not_be_leased_is_refused_with_a_reason(
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
