# SPDX-License-Identifier: Apache-2.0
"""Active leases give slots back before their end."""

import contextlib
import itertools

import pytest

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.db.holdings import allocations
from nova_reservations.db.upkeep import audit
from nova_reservations.engine.booking import lease_requests
from nova_reservations.testing.region import minutes
from nova_reservations.testing.steps import Killed
from nova_reservations.testing.steps import Steps
from nova_reservations.tests.functional.engine.test_instances import active
from nova_reservations.tests.functional.engine.test_instances import boot
from nova_reservations.tests.functional.engine.test_instances import FLAVOR
from nova_reservations.tests.functional.engine.test_instances import furniture
from nova_reservations.tests.functional.engine.test_instances import id_of
from nova_reservations.tests.functional.engine.test_instances import slots
from nova_reservations.tests.functional.engine.test_instances import TYPES
from nova_reservations.tests.functional.engine.test_update import refused


@pytest.fixture
def region(make_region):
    return make_region('one', 'two', types=TYPES)


@pytest.fixture
def lease(region):
    """Ten slots: eight on one of the two hosts, which is then full, and two on
    the other."""
    return active(region, *slots(10))


def amount(region, lease):
    [reservation] = region.see(lease).reservations
    return reservation.params['amount']


def held(region, lease):
    """Return service host -> slots that the lease has in the database."""
    key = id_of(lease)
    with region.database.reader() as session:
        counts = allocations.slots(session, [key]).get(key, {})
        names = {
            holding.resource.id: holding.resource.name
            for holding in allocations.holdings(session, [key])[key]
        }
    return {names[resource]: count for resource, count in counts.items()}


def offered(region, lease):
    return region.cloud.classes[id_of(lease)]


def larger(region, lease):
    """Return the host with more of the slots, and the one with fewer."""
    return sorted(offered(region, lease), key=offered(region, lease).get)[::-1]


def land(region, lease, host):
    """Let a server in if placement has a slot for it on the host."""
    if host not in region.cloud.free_slots(id_of(lease)):
        return None
    return boot(region, lease, host)


def assert_consistent(region, lease):
    """Check that placement offers what the lease has, and servers hold no
    more."""
    assert offered(region, lease) == held(region, lease)
    assert furniture(region, lease)['hosts'] == set(held(region, lease))
    assert sum(held(region, lease).values()) == amount(region, lease)
    for host, count in held(region, lease).items():
        assert region.cloud.held_on(id_of(lease), host) <= count
    with region.database.reader() as session:
        assert audit.doubled(session) == audit.overbooked(session) == []


class TestWhatIsGivenBack:
    def test_as_many_slots_go_as_are_too_many_and_whole_hosts_first(
        self, region, lease
    ):
        many, few = larger(region, lease)
        region.change(lease, amount=7)
        region.work()
        assert held(region, lease) == {many: 7}
        assert_consistent(region, lease)
        assert region.see(lease).status_reason is None
        assert not region.see(lease).degraded
        assert region.hosts_of(region.lease()) == {few}

    def test_other_leases_have_the_room_at_once_and_not_before(
        self, region, lease
    ):
        region.change(lease, amount=6)
        with pytest.raises(exception.NotEnoughResources):
            region.lease_of(slots(10), end=30)
        region.work()
        other = active(region, *slots(10))
        assert_consistent(region, lease)
        assert_consistent(region, other)

    def test_slots_that_are_given_back_are_for_a_lease_that_waits(
        self, region, lease
    ):
        waiting = region.retry(start=0, end=30)
        region.work()
        assert region.status(waiting) == 'CREATING'
        region.change(lease, amount=8)
        region.work()
        assert region.status(waiting) == 'ACTIVE'

    def test_slots_that_are_used_stay_where_they_are(self, region, lease):
        many, few = larger(region, lease)
        for host in (many, few):
            boot(region, lease, host)
        region.change(lease, amount=2)
        region.work()
        assert held(region, lease) == {many: 1, few: 1}
        assert_consistent(region, lease)

    def test_slots_of_a_failed_host_go_first(self, region, lease):
        many, few = larger(region, lease)
        region.cloud.fail(many)
        region.look()
        region.change(lease, amount=2)
        region.work()
        assert held(region, lease) == {few: 2}
        region.now += minutes(1)
        region.healing.heal(region.now)
        assert not region.see(lease).degraded
        assert_consistent(region, lease)

    def test_slots_of_a_flavor_go_likewise(self, region):
        region.cloud.known_flavors['small'] = ports.KnownFlavor(
            'small',
            'small',
            is_public=True,
            flavor=ports.Flavor(1, 512, 1),
            amounts={'VCPU': 1, 'MEMORY_MB': 512, 'DISK_GB': 1},
            required=frozenset(),
            forbidden=frozenset(),
        )
        asked = {'flavor_id': 'small', 'amount': 4, 'affinity': None}
        lease = active(region, FLAVOR, asked)
        region.change(lease, amount=1)
        region.work()
        assert_consistent(region, lease)
        assert amount(region, lease) == 1

    def test_slots_were_held_until_they_were_given_back_and_no_longer(
        self, region, lease
    ):
        region.now += minutes(10)
        region.change(lease, amount=1)
        region.work()
        with region.database.reader() as session:
            ends = {
                item.end_date: item.released
                for item in allocations.find(
                    session, objects.HOST, lease_id=lease.id
                )
            }
        assert ends == {region.now: True, lease.end_date: False}

    def test_a_lease_may_grow_again_and_end(self, region, lease):
        region.change(lease, amount=1)
        region.work()
        region.change(lease, amount=10)
        region.work()
        assert_consistent(region, lease)
        region.forward(until=61)
        assert region.status(lease) == 'TERMINATED'
        assert region.hosts_of(lease) == set()

    def test_servers_that_come_without_asking_get_none_of_them(self, region):
        lease = active(region, *slots(3, consume='open'))
        region.change(lease, amount=1)
        [opened] = region.access.open_to('lessee')
        assert opened.slots == 1

    def test_a_dry_run_gives_nothing_back(self, region, lease):
        before = region.picture()
        changes = lease_requests.LeaseChanges(
            reservations={id_of(lease): {'amount': 2}}
        )
        region.leases.update(lease.id, changes, region.now, dry_run=True)
        assert region.picture() == before


class TestRefusals:
    def test_a_change_is_refused_where_more_slots_are_used_than_would_stay(
        self, region, lease
    ):
        many, _ = larger(region, lease)
        for _ in range(4):
            boot(region, lease, many)
        assert (
            '4 of its 10 slots are used, and amount is to be 3: delete or '
            'migrate servers first'
        ) in refused(region, lease, amount=3)

    @pytest.mark.parametrize('more', [{'end': 90}, {'end_grace': 5}])
    def test_a_change_that_asks_for_something_more_is_refused(
        self, region, lease, more
    ):
        assert 'of its own' in refused(region, lease, amount=3, **more)

    def test_nothing_is_booked_while_slots_leave(self, region, lease):
        region.change(lease, amount=3)
        for more in {'amount': 10}, {'end': 90}:
            assert 'given back; try again' in refused(region, lease, **more)
        region.change(lease, amount=2)
        region.change(lease, end=30)
        region.work()
        region.change(lease, amount=4, end=90)
        region.work()
        assert_consistent(region, lease)

    def test_a_change_is_refused_while_nobody_knows_how_many_slots_are_used(
        self, region, lease
    ):
        def silent(*_):
            raise exception.CloudUnavailable(service='Placement', reason='no')

        region.cloud.slots.slots_held = silent
        assert 'can not be reached' in refused(region, lease, amount=3)


class TestServersOnTheirWay:
    def test_a_server_that_came_has_one_of_the_slots_that_stay(
        self, region, lease
    ):
        many, few = larger(region, lease)
        region.change(lease, amount=8)
        assert land(region, lease, few)
        region.work()
        # Without this server all slots of its host would have gone.
        assert held(region, lease) == {many: 6, few: 2}
        assert_consistent(region, lease)

    def test_as_many_slots_stay_as_servers_have_come_and_that_is_said(
        self, region, lease
    ):
        many, _ = larger(region, lease)
        region.change(lease, amount=1)
        for _ in range(3):
            assert land(region, lease, many)
        region.work()
        assert held(region, lease) == {many: 3}
        assert_consistent(region, lease)
        assert region.see(lease).status_reason == (
            'A server has come meanwhile, so that the lease keeps 3 slots of '
            f'reservation {id_of(lease)}'
        )
        assert region.status(lease) == 'ACTIVE'
        region.change(lease, end=90)
        assert region.see(lease).status_reason is None

    @pytest.mark.parametrize('times', [1, 9])
    def test_slots_of_a_server_that_came_and_left_do_not_stay_unnoticed(
        self, region, lease, times
    ):
        many, few = larger(region, lease)
        ensure, passing = region.cloud.slots.ensure_slots, [few] * times

        def busy(*asked):
            # Placement does not remove slots while one of them is held.
            server = passing and boot(region, lease, passing.pop())
            ensure(*asked)
            if server:
                del region.cloud.instances[server]

        region.cloud.slots.ensure_slots = busy
        region.change(lease, amount=1)
        region.work()
        assert_consistent(region, lease)
        assert held(region, lease)[many] == 1
        assert sum(held(region, lease).values()) == (1 if times == 1 else 2)

    def test_placement_that_is_silent_is_asked_again(self, region, lease):
        region.change(lease, amount=1)
        slots_held, answers = region.cloud.slots.slots_held, [False] * 3

        def hesitant(*asked):
            if answers:
                answers.pop()
                raise exception.CloudUnavailable(
                    service='Placement', reason='no'
                )
            return slots_held(*asked)

        region.cloud.slots.slots_held = hesitant
        region.forward(until=1)
        assert not answers
        assert_consistent(region, lease)
        assert amount(region, lease) == 1


class TestHealing:
    def test_a_host_that_fails_while_they_leave(self, region, lease):
        many, few = larger(region, lease)
        region.change(lease, amount=2)
        region.cloud.fail(many)
        region.monitoring.poll(region.now)
        region.healing.heal(region.now)
        region.forward(until=1)
        assert held(region, lease) == {few: 2}
        region.healing.heal(region.now)
        assert not region.see(lease).degraded

    def test_slots_that_were_replaced_are_as_many(self, make_region):
        region = make_region('one', 'two', 'three', types=TYPES)
        lease = active(region, *slots(4))
        [failed] = region.hosts_of(lease)
        region.change(lease, amount=3)
        region.cloud.fail(failed)
        region.monitoring.poll(region.now)
        region.healing.heal(region.now)
        region.forward(until=1)
        assert sum(offered(region, lease).values()) == 3
        assert failed not in offered(region, lease)
        assert sum(held(region, lease).values()) == 3


@pytest.mark.parametrize('number', range(1, 10))
@pytest.mark.parametrize('wanted', [1, 8])
def test_a_server_that_is_let_in_at_any_step_has_a_slot(
    region, lease, number, wanted
):
    _, few = larger(region, lease)

    def come(_):
        # The servers are let in, and land, at this step.
        land(region, lease, few)
        land(region, lease, few)

    with Steps(region, number, come):
        with contextlib.suppress(exception.InvalidState):
            region.change(lease, amount=wanted)
        region.forward(until=1)
    assert_consistent(region, lease)
    came = region.cloud.held_on(id_of(lease), few)
    assert amount(region, lease) in (max(wanted, came), 10)


@pytest.mark.fuzz
@pytest.mark.parametrize('came', [0, 3])
def test_another_worker_gives_back_what_a_killed_one_began(make_region, came):
    for number in itertools.count(1):
        region = make_region('one', 'two', types=TYPES)
        lease = active(region, *slots(10))
        many, _ = larger(region, lease)
        region.change(lease, amount=2)
        for _ in range(came):
            land(region, lease, many)
        victim = region.worker('victim')
        with Steps(region, number, _kill) as steps:
            with contextlib.suppress(Killed):
                victim.tick(region.now)
            victim.drain()
        # Whatever the victim has left, only slots of the lease can be taken.
        while (free := region.cloud.free_slots(id_of(lease))) and came:
            boot(region, lease, free[0])
        region.now += minutes(0.6)
        region.forward(until=5, by=region.worker('other'))
        assert_consistent(region, lease)
        if not came:
            assert amount(region, lease) == 2
        if not steps.reached:
            break
    assert number >= 4


def _kill(step):
    raise Killed(step)
