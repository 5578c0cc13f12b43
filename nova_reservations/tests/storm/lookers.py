# SPDX-License-Identifier: Apache-2.0
"""Steps of people who only look, and of requests that are wrong."""

from nova_reservations import objects
from nova_reservations.objects import pool
from nova_reservations.tests.storm.verbs import LEASES
from nova_reservations.tests.storm.verbs import verb
from nova_reservations.tests.storm.world import World

POOLS = f'resource_type={pool.VOLUME}'

LISTS = (
    '/leases',
    '/leases?all_tenants=true&limit=2',
    '/leases?deleted=true',
    '/demand',
    '/limits',
    '/usage?detailed=true',
    '/floatingips',
    '/networks',
    '/os-hosts',
    '/os-hosts/allocations',
    '/os-hosts/calendar',
    '/os-hosts/properties?detail=true',
    f'/resources?{POOLS}',
    f'/resources/allocations?{POOLS}',
    f'/resources/calendar?{POOLS}',
    f'/resources/properties?{POOLS}',
)
COUNTED = '/os-hosts/capacity?', f'/resources/capacity?{POOLS}&'


@verb(1, who=('admin', 'ours', 'theirs'))
def look_at_all_lists(world, who):
    for path in LISTS:
        world.ask(who, 'GET', path)
    start, end = world.date(10), world.date(130)
    window = f'start={start}&end={end}&step=20m'.replace(' ', '%20')
    for path in COUNTED:
        world.ask('admin', 'GET', path + window)


@verb(2, who=('admin', 'ours', 'theirs'), number=LEASES)
def look_at_a_lease(world, who, number):
    found = world.lease(number)
    if found is not None:
        world.ask(who, 'GET', f'/leases/{found.id}')


def look_at_versions(world: World) -> None:
    for path in '/', '/versions', '/v1', '/v1/openapi.json':
        world.ask_above(path)


@verb(1, number=(0, 1, 2))
def look_at_what_there_is(world, number):
    for noun, key in (
        *listed(world, 'os-hosts', 'hosts', number),
        *listed(world, 'floatingips', 'floatingips', number),
        *listed(world, 'networks', 'networks', number),
        *listed(world, f'resources?{POOLS}', 'resources', number),
    ):
        world.ask('admin', 'GET', f'/{noun}/{key}')
        if noun == 'os-hosts':
            world.ask('admin', 'GET', f'/{noun}/{key}/allocation')


@verb(
    1,
    wrong=(
        {'min': 0, 'max': 1},
        {'min': 2, 'max': 1},
        {'min': 1, 'max': 1, 'resource_properties': '["==", "$gpu"'},
        {'min': 10**9, 'max': 10**9},
        {},
    ),
)
def ask_what_is_wrong(world, wrong):
    answer = world.ask(
        'ours',
        'POST',
        '/leases',
        {
            'name': 'wrong',
            'start_date': 'now',
            'end_date': world.date(60),
            'reservations': [{'resource_type': objects.HOST, **wrong}],
        },
    )
    assert 400 <= answer.status_int < 500, answer.text


def listed(
    world: World, path: str, noun: str, number: int
) -> list[tuple[str, str]]:
    """Return the path and the id of one of a list, if it has any."""
    answer = world.ask('admin', 'GET', f'/{path}')
    found = answer.json.get(noun)
    if not found:
        return []
    return [(path.partition('?')[0], found[number % len(found)]['id'])]
