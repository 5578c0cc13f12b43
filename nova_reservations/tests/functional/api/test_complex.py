# SPDX-License-Identifier: Apache-2.0
"""Reservations that expand into others, as users see them."""

from nova import policy as nova_policy
from oslo_policy import policy as oslo_policy
import pytest

from nova_reservations.policies import base
from nova_reservations.policies import leases as policies
from nova_reservations.tests.functional.engine import clusters

CLUSTER = clusters.CLUSTER


@pytest.fixture
def settings(settings):
    settings.set_override(
        'resource_types',
        ['physical:host', 'virtual:instance'],
        group='reservations',
    )
    return settings


@pytest.fixture(autouse=True)
def cluster_type(services, settings, cloud, enrolled, monkeypatch):
    """The type of clusters, as if it was installed and switched on."""
    services.means.types[CLUSTER] = clusters.Cluster(cloud, settings)
    rule = base.rule(
        policies.create_of(CLUSTER), '@', 'Create one.', ('POST', '/leases')
    )
    monkeypatch.setattr(policies, 'RULES', [*policies.RULES, rule])
    nova_policy.reset()
    yield
    nova_policy.reset()


def asked(**sizes):
    return [{'resource_type': CLUSTER, **sizes}]


def test_parts_are_shown_with_what_they_are_part_of(member, workers):
    lease = member.lease(reservations=asked(machines=1, nodes=2))
    whole, hosts, nodes = lease['reservations']
    assert 'part_of' not in whole
    assert (hosts['part_of'], hosts['part_name']) == (whole['id'], 'machines')
    assert (nodes['part_of'], nodes['part_name']) == (whole['id'], 'nodes')
    assert (nodes['amount'], nodes['consume']) == (2, 'open')
    path = f'/leases/{lease["id"]}'
    assert member('GET', path).json == {'lease': lease}
    workers.work(3)
    shown = member('GET', path).json['lease']
    assert shown['status'] == 'ACTIVE'
    assert shown['reservations'][2]['used'] == 2


def test_a_part_is_changed_by_what_it_is_part_of_alone(member):
    lease = member.lease(
        start_date='2030-05-18 10:00', reservations=asked(nodes=2)
    )
    whole, nodes = lease['reservations']
    path = f'/leases/{lease["id"]}'
    refused = member(
        'PUT', path, {'reservations': [{'id': nodes['id'], 'amount': 3}]}
    )
    assert refused.status_int == 400
    assert refused.json['error_message'] == (
        f'Reservation {nodes["id"]} is part of reservation {whole["id"]}: '
        'change that one'
    )
    # To acknowledge replaced resources is not a change of the reservation.
    noted = {'id': nodes['id'], 'resources_changed': False}
    assert member('PUT', path, {'reservations': [noted]}).status_int == 200
    changed = member(
        'PUT',
        f'{path}?dry_run=true',
        {'reservations': [{'id': whole['id'], 'nodes': 1, 'machines': 1}]},
    )
    assert [
        (each.get('part_name'), each.get('amount'))
        for each in changed.json['lease']['reservations']
    ] == [(None, None), ('nodes', 1), ('machines', None)]
    assert [
        (each['id'], each.get('amount'))
        for each in member('GET', path).json['lease']['reservations']
    ] == [(whole['id'], None), (nodes['id'], 2)]


def test_nobody_gets_by_parts_what_its_policy_refuses(member, admin):
    hosts = policies.create_of('physical:host')
    rules = oslo_policy.Rules.from_dict({hosts: 'role:admin'})
    nova_policy.set_rules(rules, overwrite=False)
    body = {'name': 'mine', 'start_date': 'now', 'duration': '1h'}
    refused = member(
        'POST', '/leases', body | {'reservations': asked(machines=1)}
    )
    assert refused.status_int == 403
    lease = member.lease(reservations=asked(nodes=1))
    refused = member(
        'PUT',
        f'/leases/{lease["id"]}',
        {
            'reservations': [
                {'id': lease['reservations'][0]['id'], 'machines': 1}
            ]
        },
    )
    assert refused.status_int == 403
    assert admin.lease(reservations=asked(machines=1))


def test_offers_are_found_for_all_parts_together(member):
    member.lease(
        reservations=[{'resource_type': 'physical:host', 'min': 3, 'max': 3}]
    )
    [offer] = member(
        'POST',
        '/leases/offers',
        {
            'duration': '1h',
            'limit': 1,
            'reservations': asked(machines=2, nodes=8),
        },
    ).json['offers']
    assert offer['start_date'] == '2030-05-17T11:30:25.000000'
