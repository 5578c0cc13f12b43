# SPDX-License-Identifier: Apache-2.0
"""The end of each story, when all is well: leases are in the states that their
dates ask for; and when all are over, nothing of them is left."""

from nova_reservations import objects
from nova_reservations.objects import states
from nova_reservations.testing import region as regions
from nova_reservations.tests.functional.engine import recorded
from nova_reservations.tests.storm import invariants
from nova_reservations.tests.storm import lookers
from nova_reservations.tests.storm import operators
from nova_reservations.tests.storm import workers
from nova_reservations.tests.storm import world as worlds

CALM = 21
"""Minutes after which nothing is late any more: a claim of a killed worker
expires, and what has failed is tried again."""

LOOK = 3
"""Minutes from one look to the next."""

LOOKS = 40
"""The most looks, ten hours apart, until all leases are over."""


def calm(world: worlds.World, known: invariants.Invariants) -> None:
    """Let nothing fail any more, and let workers do what is due."""
    region, cloud = world.region, world.region.cloud
    cloud.services.clear()
    cloud.silent.clear()
    cloud.broken = set()
    cloud.neutron_is_silent = False
    operators.give_back_what_was_taken(world)
    for _ in range(CALM // LOOK):
        region.now += regions.minutes(LOOK - 1)
        workers.monitors_look(world, 0)
        cloud.finish_tasks()
        cloud.finish_moves()
        known.record.look()
    known.check()
    for lease in world.leases():
        _check_state(lease, region)


def _check_state(lease: objects.Lease, region: regions.Region) -> None:
    margin = regions.minutes(CALM)
    assert lease.status != states.Lease.DELETING, lease
    if lease.status in states.OVER | states.WAITING:
        return
    if region.now < lease.start_date:
        wanted = states.Lease.PENDING
    elif lease.start_date + margin <= region.now < lease.end_date:
        wanted = states.Lease.ACTIVE
    elif lease.end_date + margin <= region.now:
        wanted = states.Lease.TERMINATED
    else:
        return
    assert lease.status == wanted, lease


def finish(world: worlds.World, known: invariants.Invariants) -> None:
    """Let time pass until all leases are over."""
    calm(world, known)
    lookers.look_at_all_lists(world, 'admin')
    lookers.look_at_versions(world)
    lookers.look_at_what_there_is(world, 0)
    operators.hide_a_property(world, private=False)
    region = world.region
    for _ in range(LOOKS):
        if all(_is_over(lease) for lease in world.leases()):
            break
        region.now += regions.minutes(600)
        workers.a_worker_works(world, 0)
        known.check()
    for lease in world.leases():
        assert _is_over(lease), lease
        assert lease.status_reason or lease.status == 'TERMINATED', lease
    _check_nothing_is_left(world)
    totals = recorded.totals(region)
    if known.times_are_exact:
        wanted = known.record.totals()
        assert totals == wanted, (totals, wanted)
    _check_usage_is_shown(world, totals)
    for number in operators.HOST_NUMBERS:
        operators.remove_a_host(world, number)


def _is_over(lease: objects.Lease) -> bool:
    return lease.status in states.OVER and not lease.in_nova


def _check_nothing_is_left(world: worlds.World) -> None:
    region, cloud = world.region, world.region.cloud
    for name in 'aggregate_hosts', 'classes', 'flavors', 'groups':
        assert not getattr(cloud, name), (name, getattr(cloud, name))
    for name in 'floating_ips', 'segment_networks':
        left = [
            made
            for made in getattr(cloud, name).values()
            if made.project_id != 'other'
        ]
        assert not left, left
    assert not cloud.volumes.made
    assert not region.fenced()
    servers = [
        server
        for server in cloud.instances.values()
        if server.project_id != 'somebody'
    ]
    assert not servers, servers


def _check_usage_is_shown(
    world: worlds.World, totals: dict[tuple[str, str], float]
) -> None:
    """Compare what the API shows with unit seconds by project and class."""
    answer = world.ask(
        'admin',
        'GET',
        '/usage?start=2029-12-01%2000:00&end=2030-12-01%2000:00',
    )
    assert answer.status_int == 200, answer.text
    shown = {
        (each['tenant_id'], name): hours * 3600
        for each in answer.json['tenant_usages']
        for name, hours in each['reserved'].items()
    }
    for key in shown.keys() | totals.keys():
        assert abs(shown.get(key, 0) - totals.get(key, 0)) < 1, key
