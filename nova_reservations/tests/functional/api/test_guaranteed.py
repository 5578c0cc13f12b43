# SPDX-License-Identifier: Apache-2.0
"""POST /servers for servers that are guaranteed a place, in front of a
stand-in for Nova that makes servers."""

import pytest

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.tests.functional.api import server_requests

boot = server_requests.boot
leases = server_requests.leases
only_lease = server_requests.only_lease
reason = server_requests.reason

SMALL = ports.KnownFlavor(
    'small',
    'm1.small',
    True,
    ports.Flavor(2, 2048, 20),
    {'VCPU': 2, 'MEMORY_MB': 2048, 'DISK_GB': 20},
    frozenset(),
    frozenset(),
)
HUGE = ports.KnownFlavor(
    'huge',
    'm1.huge',
    True,
    ports.Flavor(16, 60000, 20),
    {'VCPU': 16, 'MEMORY_MB': 60000, 'DISK_GB': 20},
    frozenset(),
    frozenset(),
)
"""A flavor of which a host has room for one server."""


class Nova(server_requests.Nova):
    """Puts each server on the host where it has a guaranteed place."""

    def _make(self, project_id):
        super()._make(project_id)
        carried = self.bodies[-1][server_requests.KEYS[0]]['lease_params']
        if carried in self.cloud.classes:
            [host, *_] = self.cloud.free_slots(carried)
            server = self.cloud.boot(host, project_id, self.made[-1])
            self.cloud.reservation_of[server] = carried


@pytest.fixture
def settings(settings):
    settings.set_override(
        'resource_types', [objects.HOST, objects.SERVER], group='reservations'
    )
    return settings


@pytest.fixture
def behind(cloud):
    cloud.known_flavors = {'small': SMALL, 'huge': HUGE}
    return Nova(cloud)


def ask(person, flavor='small', server=None, **params):
    return boot(
        person,
        server_requests.text(guaranteed=True, **params),
        server={'flavorRef': flavor, **(server or {})},
    )


def test_a_server_with_a_place_says_so(member, enrolled, workers, behind):
    assert ask(member).status_int == 202
    workers.work()
    lease = only_lease(member)
    assert lease['status'] == 'ACTIVE'
    answer = member('GET', f'/leases/{lease["id"]}')
    [shown] = answer.json['lease']['reservations']
    assert {
        'resource_type': 'virtual:instance',
        'resource_id': behind.made[0],
        'servers': behind.made,
        'guaranteed': True,
        'on_end': ['delete'],
        'amount': 1,
        'vcpus': 2,
        'memory_mb': 2048,
        'disk_gb': 20,
        'used': 1,
    }.items() <= shown.items()
    assert 'flavor' not in shown


def test_the_place_of_a_server_is_there_before_nova_is_asked(
    member, enrolled, cloud, behind
):
    seen = []
    behind.meanwhile = lambda: seen.extend(cloud.classes.values())
    ask(member, 'http://nova/flavors/huge')
    [slots] = seen
    assert list(slots.values()) == [1]


def test_a_place_for_later_is_not_made_yet(member, enrolled, cloud):
    assert ask(member, start='2030-05-17 11:00').status_int == 202
    assert cloud.classes == {}


def test_without_room_nova_is_not_asked(member, admin, enrolled, behind):
    for _ in enrolled:
        assert ask(member, 'huge').status_int == 202
    asked = len(behind.bodies)
    answer = ask(member, 'huge')
    assert answer.status_int == 409
    assert '3 hosts match, there is room for 0 servers' in reason(answer)
    assert len(behind.bodies) == asked
    assert len(leases(member)) == asked == 3
    later = {'start': '2030-05-17 12:00', 'end': '2030-05-17 13:00'}
    assert ask(member, 'huge', **later).status_int == 202


def test_without_hosts_in_the_pool_there_is_no_place(member, behind):
    answer = ask(member)
    assert answer.status_int == 409
    assert '0 hosts match' in reason(answer)
    assert (behind.bodies, leases(member)) == ([], [])


@pytest.mark.parametrize(
    ('counts', 'amount'),
    [
        ({}, 1),
        ({'min_count': 2}, 2),
        ({'min_count': '2', 'max_count': '3'}, 3),
        ({'min_count': 1, 'max_count': 3}, 3),
        ({'min_count': 'many'}, 1),
    ],
)
def test_as_many_places_as_nova_may_make_servers(
    member, enrolled, cloud, behind, counts, amount
):
    behind.status = '400 Bad Request'
    seen = []
    behind.meanwhile = lambda: seen.extend(cloud.classes.values())
    ask(member, server=counts)
    assert sum(seen[0].values()) == amount


@pytest.mark.parametrize(
    ('server', 'params', 'why'),
    [
        ({'flavorRef': None}, {}, 'flavorRef is missing'),
        ({'flavorRef': 'none'}, {}, 'could not be found'),
        ({'max_count': 10001}, {}, 'between 1 and 10000'),
        ({}, {'on_end': 'suspend'}, 'add delete to on_end'),
        ({}, {'guaranteed': 'yes'}, 'guaranteed'),
    ],
)
def test_a_server_that_can_not_have_a_place_is_refused(
    member, enrolled, behind, server, params, why
):
    answer = boot(
        member,
        server_requests.text(**{'guaranteed': True, **params}),
        server={'flavorRef': 'small', **server},
    )
    assert answer.status_int == 400, answer.text
    assert why in reason(answer)
    assert (behind.bodies, leases(member)) == ([], [])


def test_actions_that_the_operator_sets_for_the_end_must_delete(
    member, enrolled, settings, behind
):
    settings.set_override('instance_on_end', ['suspend'], group='reservations')
    answer = ask(member)
    assert answer.status_int == 400
    assert 'instance_on_end' in reason(answer)
    assert behind.bodies == []
    assert ask(member, on_end='delete').status_int == 202


def test_the_zone_of_the_server_is_that_of_its_place(member, enrolled, behind):
    for zone, status in (('nova', 202), ('nova:h1', 202), ('other', 409)):
        answer = ask(member, server={'availability_zone': zone})
        assert answer.status_int == status


@pytest.mark.parametrize('text', ['a\0b', '\ud800', '\ud800:h1'])
@pytest.mark.parametrize('name', ['availability_zone', 'flavorRef'])
def test_text_that_no_database_takes_is_bad_input(
    member, enrolled, behind, name, text
):
    answer = boot(
        member,
        server_requests.text(guaranteed=True),
        server={'flavorRef': 'small', name: text},
    )
    assert answer.status_int == 400
    assert 'NUL and single surrogates' in reason(answer)
    assert behind.bodies == []
    assert leases(member) == []


@pytest.mark.parametrize('status', ['400 Bad Request', '403 Forbidden'])
def test_a_server_that_nova_refuses_leaves_no_place(
    member, enrolled, cloud, workers, behind, status
):
    behind.status = status
    assert ask(member).status == status
    workers.work(3)
    assert leases(member) == []
    assert (cloud.classes, cloud.aggregate_hosts) == ({}, {})


def test_a_place_that_can_not_be_made_leaves_nothing(
    member, enrolled, cloud, workers, behind
):
    def down(step):
        if step == 'set slots':
            raise exception.CloudUnavailable(service='Placement', reason='no')

    cloud.before = down
    answer = ask(member)
    assert answer.status_int == 503
    assert behind.bodies == []
    cloud.before = lambda step: None
    workers.work(3)
    assert leases(member) == []
    assert (cloud.classes, cloud.aggregate_hosts) == ({}, {})


def test_a_place_is_made_longer_only_where_there_is_room(member, enrolled):
    for _ in enrolled:
        ask(member, 'huge')
    [lease, *_] = leases(member)
    path = f'/leases/{lease["id"]}'
    later = {'end_date': '2030-05-17 13:00'}
    whole = member.lease(
        start_date='2030-05-17 12:30',
        reservations=[{'resource_type': 'physical:host', 'min': 3, 'max': 3}],
    )
    assert member('PUT', path, later).status_int == 400
    assert member('DELETE', f'/leases/{whole["id"]}').status_int == 204
    assert member('PUT', path, later).status_int == 200


def test_a_guarantee_does_not_change(member, enrolled):
    ask(member)
    boot(member)
    for lease in leases(member):
        [reservation] = lease['reservations']
        change = {'guaranteed': not reservation.get('guaranteed')}
        answer = member(
            'PUT',
            f'/leases/{lease["id"]}',
            {'reservations': [{'id': reservation['id'], **change}]},
        )
        assert answer.status_int == 400
        assert 'guaranteed' in answer.json['error_message']
