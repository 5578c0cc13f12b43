# SPDX-License-Identifier: Apache-2.0
"""Every state in which a server stands between two owners, crossed with every
way in which a lease can end: each cell of the table is a test.

Decision 0063: doc/source/decisions/0063-who-counts-it-has-it
"""

import dataclasses

import pytest

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.engine.worker import deleted_servers
from nova_reservations.objects import states
from nova_reservations.testing import fake_moves
from nova_reservations.testing import stacks
from nova_reservations.testing.fake_moves import Place
from nova_reservations.testing.region import minutes
from nova_reservations.tests.functional.engine import test_instances
from nova_reservations.types.heat import stack
from nova_reservations.types.servers import flavor
from nova_reservations.types.servers import host
from nova_reservations.types.servers import instance

SLOTS = {
    'virtual:instance': instance.VirtualInstance,
    'flavor:instance': flavor.FlavorInstance,
}
TYPES = {objects.HOST: host.PhysicalHost, **SLOTS, stacks.STACK: stack.Stack}
ORDINARY = 'elsewhere'


def id_of(lease):
    """Return the reservation of slots of a lease."""
    [found] = [
        item.id for item in lease.reservations if item.resource_type in SLOTS
    ]
    return found


@dataclasses.dataclass
class World:
    """Two leases of two slots each, on the hosts one, two and far, which is in
    another cell. The lease under test ends after an hour, the other later.

    :ivar project: the one whose the servers are."""

    region: object
    lease: objects.Lease
    other: objects.Lease
    project: str = 'lessee'

    @property
    def cloud(self):
        return self.region.cloud

    def slot(self, lease, host='one'):
        return Place(host, id_of(lease))

    def boot(self, place, chosen=False):
        server = self.cloud.intrude(place.host, self.project)
        if place.reservation_id:
            self.cloud.reservation_of[server] = place.reservation_id
            self.region.access.record_server(
                server, place.reservation_id, self.region.now, chosen
            )
        return server

    def be(self, server, **changes):
        self.cloud.instances[server] = dataclasses.replace(
            self.cloud.instances[server], **changes
        )


def moved(source, target, stage):
    """Return what makes a server that is at this stage of a move."""

    def make(world):
        places = {
            'lease': world.slot(world.lease),
            'far': world.slot(world.lease, 'far'),
            'other': world.slot(world.other, 'two'),
            'ordinary': Place(ORDINARY),
        }
        server = world.boot(places[source])
        fake_moves.begin(world.cloud, server, places[target], stage)
        return server

    return make


def has(**changes):
    """Return what makes a server of the lease in some state."""

    def make(world):
        server = world.boot(world.slot(world.lease))
        world.be(server, **changes)
        return server

    return make


def shelved(flavor, chosen=None):
    """Return what makes a shelved server with the flavor of a lease, or an
    ordinary one, that has come to a lease without naming it."""

    def make(world):
        leases = {'lease': world.lease, 'other': world.other}
        server = world.boot(
            world.slot(leases[chosen or 'lease']), bool(chosen)
        )
        if flavor is None:
            del world.cloud.reservation_of[server]
        else:
            world.cloud.reservation_of[server] = id_of(leases[flavor])
        test_instances.shelve(world.region, server)
        return server

    return make


def settled(target):
    """Return what makes a server that has been resized out of the lease."""

    def make(world):
        server = moved('lease', target, fake_moves.VERIFIED)(world)
        fake_moves.settle(world.cloud, server)
        return server

    return make


def evacuated(world):
    server = world.boot(world.slot(world.lease, 'two'))
    world.be(server, host='one')
    return server


OURS, THEIRS, GOING, COMING = 'ours', 'theirs', 'going', 'coming back'
"""The lease counts it; another does, or none; another does, or will, and
the lease still has a part of it; it comes back to the lease."""

PREPARED, VERIFIED = fake_moves.PREPARED, fake_moves.VERIFIED
REVERTING = fake_moves.REVERTING
UNDER_WAY = ('resize_migrating', 'resize_migrated')

STATES = {
    f'{source} to {target}, {stage}': (moved(source, target, stage), whose)
    for source, target, cases in (
        (
            'lease',
            'other',
            {PREPARED: OURS, REVERTING: COMING}
            | dict.fromkeys((*UNDER_WAY, VERIFIED), GOING),
        ),
        (
            'lease',
            'ordinary',
            {PREPARED: OURS, REVERTING: COMING}
            | dict.fromkeys((*UNDER_WAY, VERIFIED), GOING),
        ),
        (
            'ordinary',
            'lease',
            {PREPARED: THEIRS, REVERTING: GOING}
            | dict.fromkeys((*UNDER_WAY, VERIFIED), OURS),
        ),
        (
            'other',
            'lease',
            {PREPARED: THEIRS, REVERTING: GOING}
            | dict.fromkeys((*UNDER_WAY, VERIFIED), OURS),
        ),
        # Across cells, inside the lease.
        (
            'lease',
            'far',
            {REVERTING: COMING}
            | dict.fromkeys((PREPARED, *UNDER_WAY, VERIFIED), OURS),
        ),
        ('lease', 'far', {'migrating': OURS}),
    )
    for stage, whose in cases.items()
} | {
    'resized to another lease': (settled('other'), THEIRS),
    'resized to an ordinary flavor': (settled('ordinary'), THEIRS),
    'shelved': (has(state='shelved'), OURS),
    'shelved and offloaded': (shelved('lease'), OURS),
    'shelved after a resize to another lease': (shelved('other'), THEIRS),
    'shelved after a resize to an ordinary flavor': (shelved(None), THEIRS),
    'shelved, and came by itself': (shelved(None, 'lease'), OURS),
    'shelved, and came to another by itself': (
        shelved(None, 'other'),
        THEIRS,
    ),
    'shelved in another lease, and came by itself': (
        shelved('other', 'lease'),
        THEIRS,
    ),
    'soft-deleted': (has(state='soft-delete'), OURS),
    'evacuated': (evacuated, OURS),
    'in error': (has(state='error'), OURS),
    'rebuilding': (has(task='rebuilding'), OURS),
}


def some_slots(**asked):
    """Ask for three slots, on three hosts."""
    return test_instances.slots(3, vcpus=1, affinity=False, **asked)


def a_stack(**asked):
    """Ask for a stack of three servers, on three hosts."""
    servers = {name: stacks.server('huge') for name in ('a', 'b', 'c')}
    return stacks.asked(servers, **asked)


@pytest.fixture
def make_world(make_region):
    """Makes worlds: of a lease with this end action, or of what else is asked
    for.

    :param sharer: the project whose all servers are
    """

    def make(
        action='delete', ask=some_slots, sharer=None, options=(), **asked
    ):
        region = make_region('one', 'two', 'far', types=TYPES, **dict(options))
        region.add_host(ORDINARY, enrol=False)
        region.cloud.cells['far'] = 'another cell'
        stacks.switch_on(region, *TYPES)
        region.cloud.known_flavors['id-huge'] = ports.KnownFlavor(
            id='id-huge',
            name='huge',
            is_public=True,
            flavor=ports.Flavor(1, 40960, 10),
            amounts={'VCPU': 1, 'MEMORY_MB': 40960},
            required=frozenset(),
            forbidden=frozenset(),
        )
        leases = []
        for end, item in (
            (60, ask(end_action=action, **asked)),
            (600, some_slots()),
        ):
            lease = region.lease_of(item, end=end, before_end=end - 10)
            region.work()
            region.cloud.stacks.finish()
            region.forward(until=1)
            leases.append(region.see(lease))
        if sharer:
            for lease in leases:
                region.services.sharing.add(
                    lease.id, id_of(lease), sharer, region.now
                )
            region.work()
        return World(region, *leases, sharer or 'lessee')

    return make


def everyone(world):
    """Return state -> a server in it."""
    return {name: make(world) for name, (make, _) in STATES.items()}


def those(*wanted):
    return {name for name, (_, whose) in STATES.items() if whose in wanted}


def go_on(world, servers):
    """Let Nova finish all that it has begun: moves, and the tasks of servers
    that can't be shelved, or migrated, because of them."""
    for name, server in servers.items():
        known = world.cloud.instances.get(server)
        if server in world.cloud.moves and (
            # From its end on, nova-scheduler lets no server into the lease.
            STATES[name][1] != THEIRS
        ):
            fake_moves.go_on(world.cloud, server)
        elif known is not None and STATES[name][1] == OURS:
            world.be(server, task=None, state='active')


def left(world, servers):
    return {
        name
        for name, server in servers.items()
        if server in world.cloud.instances | world.cloud.at_rest
    }


BY_WHOM = pytest.mark.parametrize(
    'sharer', [None, 'students'], ids=['the owner', 'sharers alone']
)


@BY_WHOM
def test_an_end_deletes_what_the_lease_counts(make_world, sharer):
    world = make_world(sharer=sharer)
    servers = everyone(world)
    world.region.forward(until=60.5)
    assert left(world, servers) == those(THEIRS, GOING, COMING)
    assert world.region.status(world.lease) == 'TERMINATING'
    go_on(world, servers)
    world.region.forward(until=65)
    assert left(world, servers) == those(THEIRS, GOING)
    assert world.region.status(world.lease) == 'TERMINATED'


@BY_WHOM
@pytest.mark.parametrize(
    ('action', 'ask', 'does'),
    [
        ('shelve', some_slots, 'shelve'),
        ('migrate', some_slots, 'migrate'),
        (stack.KEEP, a_stack, 'migrate'),
    ],
)
def test_an_end_keeps_what_the_lease_counts(
    make_world, action, ask, does, sharer
):
    world = make_world(action, ask, sharer)
    servers = everyone(world)
    for minute in (60.5, 61, 62, 63, 64):
        world.region.forward(until=minute)
        go_on(world, servers)
    world.region.forward(until=70)
    assert world.region.status(world.lease) == 'TERMINATED'
    done = {'shelve': world.cloud.shelved, 'migrate': world.cloud.migrated}
    on_shelves = {name for name in STATES if name.startswith('shelved')}
    acted = {name for name in STATES if servers[name] in done[does]}
    # What was being prepared has gone where it was to go.
    gone = {
        f'lease to {target}, {PREPARED}' for target in ('other', 'ordinary')
    }
    assert acted == those(OURS, COMING) - (on_shelves - {'shelved'}) - gone
    world.region.forward(until=75)
    assert those(THEIRS, GOING) <= left(world, servers)


NEVER_LET_IN = {
    'shelved, and came to another by itself',
    *(f'{source} to lease, {PREPARED}' for source in ('ordinary', 'other')),
}


@BY_WHOM
@pytest.mark.parametrize('state', STATES)
def test_a_lease_ends_as_unused_where_it_never_counted_a_server(
    make_world, state, sharer
):
    world = make_world(
        sharer=sharer,
        options={
            'unused_lease_timeout': minutes(15),
            'unused_lease_action': states.UnusedAction.END,
        },
    )
    region = world.region
    region.access.use(world.other.id, region.now)
    make, _ = STATES[state]
    server = make(world)
    region.now += minutes(20)
    region.soon(deleted_servers.TASK)
    region.work()
    ended = region.status(world.lease) == 'TERMINATED'
    assert ended == (state in NEVER_LET_IN)
    assert server in world.cloud.instances | world.cloud.at_rest


def test_an_owner_deletes_with_the_lease_what_it_counts(make_world):
    world = make_world()
    servers = everyone(world)
    world.region.delete(world.lease)
    world.region.forward(until=0.5)
    assert left(world, servers) == those(THEIRS, GOING, COMING)
    go_on(world, servers)
    world.region.forward(until=5)
    with pytest.raises(exception.NotFound):
        world.region.see(world.lease)
    assert left(world, servers) == those(THEIRS, GOING)


def test_an_open_resize_out_of_a_lease_that_ends_is_confirmed(make_world):
    world = make_world()
    servers = everyone(world)
    world.region.forward(until=60.5)
    resized = {
        name: world.cloud.instances[server].state
        for name, server in servers.items()
        if name.startswith('lease to') and name.endswith(VERIFIED)
        if STATES[name][1] == GOING
    }
    assert sorted(resized.values()) == ['active', 'active']


def test_a_snapshot_is_made_of_what_the_lease_counts(make_world):
    world = make_world(before_end='snapshot')
    servers = everyone(world)
    world.region.forward(until=59.5)
    copied = {uuid for uuid, _ in world.cloud.images}
    can_be_copied = {
        name
        for name, server in servers.items()
        if (known := world.cloud.instances.get(server))
        and known.task is None
        and known.state != 'error'
    }
    assert {
        name for name in STATES if servers[name] in copied
    } == can_be_copied & those(OURS)


def test_slots_that_anything_holds_are_not_given_back(make_world):
    world = make_world()
    servers = everyone(world)
    key = id_of(world.lease)
    held = {
        name: sum(
            place.reservation_id == key
            for place in fake_moves.places(world.cloud, known)
        )
        for name, server in servers.items()
        if (known := world.cloud.instances.get(server))
    }
    # A server that is on its way holds one as those do that the lease counts.
    assert {name for name in held if held[name]} == (
        held.keys() & those(OURS, GOING, COMING)
    )
    with pytest.raises(exception.InvalidState, match='of its 3 slots'):
        world.region.change(world.lease, amount=2)


def test_servers_are_evacuated_where_the_lease_counts_them(make_world):
    world = make_world()
    servers = everyone(world)
    region = world.region
    region.opts.set_override('heal_evacuate', True, group='reservations')
    asked = set()

    def note(servers, check):
        asked.update(each.uuid for each in servers)
        return {}

    world.cloud.servers.evacuate = note
    region.cloud.fail('one', forced_down=True)
    region.look()
    there = world.slot(world.lease)
    assert {name for name in STATES if servers[name] in asked} == {
        name
        for name, server in servers.items()
        if (known := world.cloud.instances.get(server))
        and fake_moves.counted(world.cloud, known) == there
    }


@pytest.mark.parametrize('stage', [*UNDER_WAY, VERIFIED])
def test_a_lease_of_hosts_leaves_what_has_moved_into_slots(make_region, stage):
    region = make_region('one', 'two', types=TYPES)
    lease = region.active_lease(consume='open')
    [name] = region.hosts_of(lease)
    slots = region.lease_of(test_instances.slots(1), end=600)
    region.work()
    [target] = region.hosts_of(slots)
    server = region.cloud.intrude(name, 'lessee')
    key = test_instances.id_of(lease)
    region.access.record_server(server, key, region.now, True)
    place = Place(target, test_instances.id_of(slots))
    fake_moves.begin(region.cloud, server, place, stage)
    region.forward(until=60.5)
    if server in region.cloud.moves:
        assert region.status(lease) == 'TERMINATING'
        fake_moves.go_on(region.cloud, server)
    region.forward(until=65)
    assert region.status(lease) == 'TERMINATED'
    assert region.cloud.instances[server].condition == 'active'
    assert region.cloud.instances[server].host == target


def test_a_lease_of_hosts_takes_what_moves_within_it(make_region):
    region = make_region('one', 'two')
    lease = region.active_lease(minimum=2)
    region.cloud.cells['two'] = 'another cell'
    servers = []
    for stage in (*UNDER_WAY, VERIFIED, 'migrating'):
        server = region.cloud.boot('one', 'lessee')
        fake_moves.begin(region.cloud, server, Place('two'), stage)
        servers.append(server)
    region.forward(until=61)
    assert region.status(lease) == 'TERMINATED'
    assert not region.cloud.instances
