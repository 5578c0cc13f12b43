# SPDX-License-Identifier: Apache-2.0
"""Reservations of slots over the API, as Blazar's clients ask for them."""

import json

import pytest

from nova_reservations import ports
from nova_reservations.tests.functional.api import conftest

TYPES = ['physical:host', 'virtual:instance', 'flavor:instance']
VIRTUAL = {
    'resource_type': 'virtual:instance',
    'vcpus': 2,
    'memory_mb': 1024,
    'disk_gb': 10,
    'amount': 2,
    'affinity': None,
    'resource_properties': '',
}
FLAVOR = {
    'resource_type': 'flavor:instance',
    'flavor_id': 'small',
    'amount': 2,
    'affinity': 'None',
}


@pytest.fixture
def settings(settings):
    settings.set_override('resource_types', TYPES, group='reservations')
    return settings


@pytest.fixture
def cloud(cloud):
    cloud.known_flavors['small'] = ports.KnownFlavor(
        'small',
        'm1.small',
        True,
        ports.Flavor(1, 512, 5, extra_specs={'hw:cpu_policy': 'shared'}),
        {'VCPU': 1, 'MEMORY_MB': 512, 'DISK_GB': 5},
        frozenset(),
        frozenset(),
    )
    return cloud


@pytest.fixture(autouse=True)
def _hosts(enrolled):
    """All hosts are enrolled."""


def lease(person, item):
    [reservation] = person.lease(reservations=[item])['reservations']
    return reservation


def refused(person, item):
    body = {
        'name': 'mine',
        'start_date': 'now',
        'duration': '1h',
        'reservations': [item],
    }
    answer = person('POST', '/leases', body)
    return answer.status_int, answer.json['error_message']


def test_a_reservation_shows_what_clients_read(member):
    shown = lease(member, VIRTUAL)
    expected = {name: value for name, value in VIRTUAL.items()} | {
        'flavor_id': shown['id'],
        'aggregate_id': None,
        'server_group_id': None,
        'status': 'pending',
    }
    assert shown.items() >= expected.items()


@pytest.mark.parametrize(
    ('asked', 'shown'),
    [
        (True, True),
        ('True', True),
        ('false', False),
        ('None', None),
        ('', None),
    ],
)
def test_affinity_is_understood_in_all_spellings(member, asked, shown):
    found = lease(member, VIRTUAL | {'affinity': asked})
    assert found['affinity'] is shown
    assert (found['server_group_id'] is None) == (shown is None)


def test_numbers_may_be_text(member):
    found = lease(member, VIRTUAL | {'vcpus': '2', 'disk_gb': '0'})
    assert (found['vcpus'], found['disk_gb']) == (2, 0)


@pytest.mark.parametrize(
    'name', ['vcpus', 'memory_mb', 'disk_gb', 'amount', 'affinity']
)
def test_a_missing_parameter_is_named(member, name):
    item = {key: value for key, value in VIRTUAL.items() if key != name}
    assert refused(member, item) == (400, f'Missing parameter {name}')


@pytest.mark.parametrize(
    'change',
    [
        {'amount': 0},
        {'amount': -1},
        {'amount': 100_000},
        {'vcpus': 0},
        {'vcpus': 1.5},
        {'memory_mb': ''},
        {'disk_gb': -1},
        {'affinity': 'maybe'},
        {'affinity': 1},
        {'unknown': 1},
        {'resource_properties': '["nonsense"'},
    ],
)
def test_a_reservation_that_makes_no_sense_is_refused(member, change):
    status, _ = refused(member, VIRTUAL | change)
    assert status == 400


def test_no_room_is_400_with_the_numbers(member):
    status, reason = refused(member, VIRTUAL | {'amount': 1000})
    assert status == 400
    assert reason == (
        'Not enough hosts available: 3 hosts match, there is room for 96 '
        'servers in this window, 1000 wanted'
    )


def test_a_flavor_is_shown_as_it_was(member):
    shown = lease(member, FLAVOR)
    assert shown['flavor_id'] == shown['id']
    assert (shown['vcpus'], shown['memory_mb'], shown['disk_gb']) == (
        1,
        512,
        5,
    )
    source = json.loads(shown['resource_properties'])
    assert source['id'] == 'small'
    assert source['extra_specs'] == {'hw:cpu_policy': 'shared'}


def test_a_flavor_that_is_unknown_is_400(member):
    status, reason = refused(member, FLAVOR | {'flavor_id': 7})
    assert (status, reason) == (
        400,
        'Flavor 7 was refused: it could not be found',
    )


def test_only_the_lease_itself_tells_how_much_is_used(member, workers, cloud):
    found = member.lease(reservations=[VIRTUAL])
    workers.work()
    [reservation] = found['reservations']
    server = cloud.boot('h1', 'ours')
    cloud.reservation_of[server] = reservation['id']
    [shown] = member('GET', f'/leases/{found["id"]}').json['lease'][
        'reservations'
    ]
    assert (shown['used'], shown['servers']) == (1, [server])
    [listed] = member('GET', '/leases').json['leases']
    assert 'used' not in listed['reservations'][0]


def test_an_active_reservation_changes_its_amount_only(member, workers):
    found = member.lease(reservations=[VIRTUAL])
    workers.work()
    [reservation] = found['reservations']
    path = f'/leases/{found["id"]}'

    def change(**changes):
        body = {'reservations': [{'id': reservation['id'], **changes}]}
        return member('PUT', path, body)

    assert change(amount=3).json['lease']['reservations'][0]['amount'] == 3
    refusal = change(vcpus=4)
    assert refusal.status_int == 409
    assert 'vcpus cannot be updated' in refusal.json['error_message']


@pytest.mark.parametrize(
    ('own_flavor', 'status', 'words'),
    [
        (True, 409, 'Not enough hosts available: those of reservation'),
        (False, 400, 'must have its flavor'),
    ],
)
def test_no_server_is_begun_where_all_hosts_have_failed(
    member, workers, services, cloud, clock, own_flavor, status, words
):
    reservation = member.lease(reservations=[VIRTUAL])['reservations'][0]['id']
    workers.work()
    for host in conftest.HOSTS:
        cloud.fail(host, forced_down=True)
    services.monitoring.poll(clock.now)
    answer = member.send(
        'POST',
        '/servers',
        {
            'server': {'flavorRef': reservation if own_flavor else 'small'},
            'os:scheduler_hints': {'reservation': reservation},
        },
    )
    assert answer.status_int == status
    [fault] = answer.json.values()
    assert words in fault['message']


def test_types_that_are_not_switched_on_are_refused(
    settings, member, services
):
    for name in TYPES[1:]:
        services.means.types.pop(name)
        status, reason = refused(member, VIRTUAL | {'resource_type': name})
        assert status == 400
        assert reason == f'The {name} resource type is not supported'


def test_capacity_tells_how_many_servers_of_a_flavor_get_slots(member):
    query = '/os-hosts/capacity?start=now&end=2030-06-01 10:00&step=30d'
    [before] = member('GET', f'{query}&flavor_id=small').json['capacity']
    lease(member, FLAVOR)
    [after] = member('GET', f'{query}&flavor_id=small').json['capacity']
    assert before['slots'] - after['slots'] == FLAVOR['amount']
    status, reason = refused(member, FLAVOR | {'amount': after['slots'] + 1})
    assert status == 400, reason
