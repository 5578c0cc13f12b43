# SPDX-License-Identifier: Apache-2.0
"""Steps of users: leases are asked for, changed, shared and deleted."""

from collections.abc import Mapping
from typing import Any

import webob

from nova_reservations import objects
from nova_reservations.api import cases
from nova_reservations.objects import segment
from nova_reservations.objects import states
from nova_reservations.testing import addresses
from nova_reservations.testing import pools
from nova_reservations.testing import segments
from nova_reservations.tests.functional.engine import test_instances
from nova_reservations.tests.storm import raw
from nova_reservations.tests.storm import room
from nova_reservations.tests.storm.verbs import LEASES
from nova_reservations.tests.storm.verbs import LENGTHS
from nova_reservations.tests.storm.verbs import STARTS
from nova_reservations.tests.storm.verbs import verb
from nova_reservations.tests.storm.verbs import WHO
from nova_reservations.tests.storm.world import GPU
from nova_reservations.tests.storm.world import minutes
from nova_reservations.tests.storm.world import World

ADMIN = 'admin'

REQUIRED = ('', f'["==", "$gpu", "{GPU}"]')
"""Requirements of hosts; operators give some of them this property."""

THINGS = {
    'address': lambda amount: addresses.asked(amount),
    'network': lambda amount: segments.asked(),
    'volume': lambda amount: pools.asked(40, amount),
    'storage': lambda amount: pools.whole(amount),
}


def hosts(minimum: int, more: int = 0, required: str = '') -> dict[str, Any]:
    return {
        'resource_type': objects.HOST,
        'min': minimum,
        'max': minimum + more,
        'resource_properties': required,
    }


def item(kind: str, params: Mapping[str, Any]) -> dict[str, Any]:
    return {'resource_type': kind, **params}


def lease(
    world: World,
    who: str,
    start: float,
    length: float,
    *reservations: Mapping[str, Any],
    query: str = '',
    headers: Mapping[str, str] | None = None,
    **more: Any,
) -> webob.Response:
    """Ask for a lease, in minutes from now on."""
    options = {'headers': headers} if headers else {}
    return world.ask(
        who,
        'POST',
        f'/leases{query}',
        {
            'name': 'a lease',
            'start_date': world.date(start),
            'end_date': world.date(start + length),
            'reservations': reservations,
            **more,
        },
        **options,
    )


@verb(
    8,
    who=WHO,
    start=STARTS,
    length=LENGTHS,
    minimum=(1, 2, 3),
    more=(0, 0, 1),
    required=REQUIRED,
)
def lease_hosts(world, who, start, length, minimum, more, required):
    begin = world.region.now.replace(second=0) + minutes(start)
    margin = minutes(world.settings['cleaning'] + 1)
    free = room.free_hosts(
        world.region.database,
        begin - margin,
        begin + minutes(length) + margin,
        world.region.now,
    )
    answer = lease(world, who, start, length, hosts(minimum, more, required))
    if answer.status_int == 201 or world.pauses.is_any:
        return
    if answer.json['error_kind'] == cases.NO_ROOM:
        fits = raw.of_value(world.region.database, GPU)
        free &= fits if required else free
        assert len(free) < minimum, (answer.text, free)


@verb(
    5,
    who=WHO,
    start=STARTS,
    length=LENGTHS,
    amount=(1, 2, 3, 5),
    vcpus=(8, 16, 32),
    affinity=(None, None, True, False),
)
def lease_slots(world, who, start, length, amount, vcpus, affinity):
    kind, params = test_instances.slots(amount, vcpus, affinity=affinity)
    lease(world, who, start, length, item(kind, params))


@verb(
    4,
    who=WHO,
    start=STARTS,
    length=LENGTHS,
    kind=tuple(THINGS),
    amount=(1, 2),
    beside=(0, 0, 1),
)
def lease_things(world, who, start, length, kind, amount, beside):
    """Lease what is no host; :param beside: a host comes with it"""
    asked = [item(*THINGS[kind](amount)), *[hosts(1)] * beside]
    lease(world, who, start, length, *asked)


@verb(
    3,
    who=WHO,
    length=LENGTHS,
    minimum=(1, 2, 3),
    retries=(3, 1, 40),
    fixed=(True, False),
)
def wait_for_hosts(world, who, length, minimum, retries, fixed):
    """:param fixed: whether the end is fixed, or the duration"""
    more = {'end_date': world.date(length)}
    if not fixed:
        more = {'end_date': None, 'duration': f'{length}m'}
    lease(
        world,
        who,
        0,
        length,
        hosts(minimum),
        lease_type=states.LeaseType.RETRY,
        max_retries=retries,
        **more,
    )


@verb(3, who=WHO, length=LENGTHS, minimum=(1, 2, 3, 4))
def have_hosts_emptied(world, who, length, minimum):
    best = states.LeaseType.BEST_EFFORT
    lease(world, who, 0, length, hosts(minimum), lease_type=best)


@verb(
    1,
    always=True,
    who=WHO,
    start=STARTS,
    minimum=(1, 2),
    partial=(False, True),
)
def repeat_a_lease(world, who, start, minimum, partial):
    repeat = {'every': 'P1D', 'count': 3, 'partial': partial}
    lease(world, who, start, 30, hosts(minimum), repeat=repeat)


@verb(1, who=WHO, start=STARTS, minimum=(1, 2))
def try_a_lease(world, who, start, minimum):
    """Ask whether it would be granted; nothing may change by that."""
    before = world.region.picture()
    lease(world, who, start, 30, hosts(minimum), query='?dry_run=true')
    if not world.pauses.is_any:
        assert world.region.picture() == before


@verb(1, who=WHO, start=STARTS, key=('first', 'second'))
def send_a_request_again(world, who, start, key):
    headers = {'Idempotency-Key': key}
    lease(world, who, start, 30, hosts(1), headers=headers)


@verb(1, who=WHO, minimum=(1, 2, 3), vcpus=(0, 16))
def look_for_offers(world, who, minimum, vcpus):
    asked = hosts(minimum)
    if vcpus:
        asked = item(*test_instances.slots(minimum, vcpus))
    body = {'duration': '30m', 'reservations': [asked]}
    world.ask(who, 'POST', '/leases/offers', body)


def change(world: World, number: int, **changes: Any) -> None:
    """Let the owner change the lease that is so many before the newest."""
    found = world.lease(number)
    if found is not None:
        world.ask(_owner(found), 'PUT', f'/leases/{found.id}', changes)


def _owner(found: objects.Lease) -> str:
    return found.project_id if found.project_id in WHO else ADMIN


@verb(
    4,
    number=LEASES,
    start=(None, 0, 10, 30),
    end=(None, 10, 30, 60, 120),
)
def move_a_lease(world, number, start, end):
    dates = {'start_date': start, 'end_date': end}
    changes = {
        name: world.date(minutes)
        for name, minutes in dates.items()
        if minutes is not None
    }
    change(world, number, **changes)


@verb(4, number=LEASES, minimum=(1, 2, 3), more=(0, 1), amount=(1, 2, 5))
def resize_a_lease(world, number, minimum, more, amount):
    found = world.lease(number)
    if found is None:
        return
    sizes: dict[str, dict[str, Any]] = {
        objects.HOST: {'min': minimum, 'max': minimum + more},
        segment.NETWORK: {'network_name': f'lab {amount}'},
    }
    change(
        world,
        number,
        reservations=[
            {
                'id': each.id,
                **sizes.get(each.resource_type, {'amount': amount}),
            }
            for each in found.reservations
        ],
    )


@verb(1, number=LEASES)
def rename_a_lease(world, number):
    change(world, number, name='another name')


@verb(1, number=LEASES)
def replace_failed_resources(world, number):
    change(world, number, replace_failed=True)


@verb(1, number=LEASES)
def acknowledge_changes(world, number):
    found = world.lease(number)
    if found is not None:
        noted = [
            {'id': each.id, 'resources_changed': False}
            for each in found.reservations
        ]
        change(world, number, reservations=noted)


@verb(3, always=True, number=LEASES)
def delete_a_lease(world, number):
    found = world.lease(number)
    if found is not None:
        world.ask(_owner(found), 'DELETE', f'/leases/{found.id}')


@verb(1, always=True, number=LEASES, done=('add', 'remove'))
def share_a_lease(world, number, done):
    found = world.lease(number)
    if found is None or found.project_id not in WHO:
        return
    [other] = {*WHO} - {found.project_id}
    access = {'reservation_id': found.reservations[0].id, 'project': other}
    body = {f'{done}ProjectAccess': access}
    world.ask(_owner(found), 'POST', f'/leases/{found.id}/action', body)
    world.ask(_owner(found), 'GET', f'/leases/{found.id}/project-access')


@verb(1, always=True, deleted=(False, True, True))
def see_share_or_delete_a_series(world, deleted):
    if not world.series:
        return
    path = f'/lease-series/{world.series[-1]}'
    found = world.ask(ADMIN, 'GET', path)
    if deleted:
        world.ask(ADMIN, 'DELETE', path)
    elif found.status_int == 200:
        owner = found.json['series']['leases'][0]['project_id']
        access = {'projects': sorted({*WHO} - {owner})[:1]}
        world.ask(
            ADMIN, 'POST', f'{path}/action', {'addProjectAccess': access}
        )
