# SPDX-License-Identifier: Apache-2.0
"""A lease that has started shows its owner its hosts and servers."""

import pytest

from nova_reservations.policies import leases as policies
from nova_reservations.tests.functional.api import conftest
from nova_reservations.types.servers import host as host_type

HOST = 'physical:host'
TWO = {'resource_type': HOST, 'min': 2, 'max': 2}


def granted(person, lease):
    """Return the hosts and servers that a lease's only reservation shows."""
    answer = person('GET', f'/leases/{lease["id"]}')
    assert answer.status_int == 200, answer.text
    [shown] = answer.json['lease']['reservations']
    return {key: shown[key] for key in ('hosts', 'servers') if key in shown}


@pytest.fixture
def lease(member, enrolled):
    return member.lease(reservations=[TWO])


@pytest.mark.parametrize('who', ['member', 'reader', 'admin'])
def test_hosts_of_a_lease_are_named_from_its_start_on(
    request, who, lease, enrolled, workers
):
    person = request.getfixturevalue(who)
    assert granted(person, lease) == {}
    workers.work()
    hosts = granted(person, lease)['hosts']
    known = [
        {key: host[key] for key in ('id', 'service_name')} for host in enrolled
    ]
    assert len(hosts) == 2
    assert all(host in known for host in hosts)


def test_hosts_of_a_lease_are_not_named_when_it_is_over(
    member, lease, workers
):
    workers.work()
    assert granted(member, lease)['hosts']
    member('PUT', f'/leases/{lease["id"]}', {'end_date': 'now'})
    workers.work(seconds=5)
    assert granted(member, lease) == {}


def test_hosts_are_named_where_nova_is_silent(member, lease, workers, cloud):
    workers.work()
    cloud.silent |= {cloud.cell_of(host) for host in conftest.HOSTS}
    assert 'hosts' in granted(member, lease)


def test_a_host_that_was_given_back_is_not_named(member, lease, workers):
    workers.work()
    [first, second] = granted(member, lease)['hosts']
    [reservation] = lease['reservations']
    changed = {
        'id': reservation['id'],
        'release_hosts': [first['service_name']],
    }
    answer = member(
        'PUT', f'/leases/{lease["id"]}', {'reservations': [changed]}
    )
    assert answer.status_int == 200, answer.text
    assert granted(member, lease)['hosts'] == [second]


def test_the_operator_may_keep_hosts_to_himself(
    member, admin, lease, workers, monkeypatch
):
    workers.work()
    own = member.context.can

    def can(rule, **options):
        return rule != policies.SHOW_HOSTS and own(rule, **options)

    monkeypatch.setattr(member.context, 'can', can)
    assert granted(member, lease) == {'servers': []}
    assert 'hosts' in granted(admin, lease)


def test_lists_ask_nova_for_nothing_and_name_no_hosts(member, lease, workers):
    workers.work()
    [listed] = member('GET', '/leases').json['leases']
    [reservation] = listed['reservations']
    assert {'hosts', 'servers'}.isdisjoint(reservation)


def test_servers_are_those_that_it_has_let_in(member, lease, workers, cloud):
    workers.work()
    mine, _ = granted(member, lease)['hosts']
    host = mine['service_name']
    [other] = {*conftest.HOSTS} - {
        each['service_name'] for each in granted(member, lease)['hosts']
    }
    server = cloud.boot(host, 'ours')
    cloud.intrude(host, 'ours')
    cloud.intrude(host, 'theirs')
    cloud.boot(other, 'ours')
    assert granted(member, lease)['servers'] == [server]


def test_servers_are_named_up_to_a_number(
    member, lease, workers, cloud, monkeypatch
):
    workers.work()
    monkeypatch.setattr(host_type, 'MOST_NAMED', 2)
    monkeypatch.setattr(host_type, '_LOOKED_AT_ONCE', 1)
    for host in granted(member, lease)['hosts']:
        for _ in range(3):
            cloud.boot(host['service_name'], 'ours')
    servers = granted(member, lease)['servers']
    assert servers == sorted(servers)
    assert len(servers) == 2
