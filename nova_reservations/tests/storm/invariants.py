# SPDX-License-Identifier: Apache-2.0
"""Invariants: they hold after each step, whatever has happened before it."""

from collections import Counter
from collections import defaultdict
from collections.abc import Callable
from collections.abc import Iterable
import datetime
import itertools
from typing import Any

from nova_reservations import objects
from nova_reservations.db import models
from nova_reservations.objects import address
from nova_reservations.objects import segment
from nova_reservations.objects import states
from nova_reservations.testing import pools
from nova_reservations.tests.functional.engine import recorded
from nova_reservations.tests.functional.engine import shown
from nova_reservations.tests.functional.engine import test_instances
from nova_reservations.tests.storm import raw
from nova_reservations.tests.storm import world as worlds

SLOTS = (test_instances.VIRTUAL, test_instances.FLAVOR)
OFTEN = 3
"""The API is looked at in one of so many checks."""

COUNTED = (address.FLOATING_IP, pools.STORAGE)
"""Types of which a reservation holds as many resources as it asks for."""


class Invariants:
    """Invariants of a world, and what it must remember for them.

    :ivar times_are_exact: whether time has passed only between steps; a step
        in whose middle it passes may record the time of its begin, or its end.
    """

    def __init__(self, world: worlds.World) -> None:
        self.world = world
        self.record = recorded.Oracle(world.region)
        self.shown = shown.Oracle(world.region, whole=False)
        self._given: set[int] = set()
        self._fitted: set[str] = set()
        self._ends: dict[str, datetime.datetime] = {}
        self._resources: dict[str, int] = {}
        self._past: dict[tuple[str, Any], Any] = {}
        self._ended: dict[str, Any] = {}
        self._checked: Any = None
        self.times_are_exact = True
        self._checks = itertools.count()

    def check(self) -> None:
        """Check what may have changed since the last check: all that the
        tables say, and now and then what is shown, which takes longer.

        :raises: AssertionError, whose notes name the invariant
        """
        state = self.world.region.now, self.world.pauses.writes
        if state == self._checked:
            return
        held = raw.held(self.world.region.database)
        for invariant in ALL if next(self._checks) % OFTEN else [*ALL, *SHOWN]:
            try:
                invariant(self, held)
            except AssertionError as error:
                error.add_note(f'Broken: {invariant.__name__}')
                raise
        self.world.seen.look(self.world.region.database)
        self._checked = state

    # Nothing is held twice

    def nothing_is_promised_twice(self, held: list[raw.Held]) -> None:
        capacity = raw.capacities(self.world.region.database)
        for there in _by_resource(one for one in held if not one.replaced):
            for one in there:
                together = [each for each in there if each.goes_on(one.start)]
                _fit(together, capacity[one.resource])

    def nothing_is_used_twice(self, held: list[raw.Held]) -> None:
        """An allocation past its end, and not released, keeps its place."""
        region = self.world.region
        capacity = raw.capacities(region.database)
        lets_in: dict[str, frozenset[str]] = {}
        for one in held:
            if one.status == states.Lease.ACTIVE and one.kind in (
                objects.HOST,
                *SLOTS,
            ):
                access = region.access.find(one.reservation)
                lets_in[one.reservation] = access.hosts if access else ()
        for there in _by_resource(held):
            used = [
                one
                for one in there
                if one.replaced
                or (one.status in states.ENDING and one.start <= region.now)
                or one.resource in lets_in.get(one.reservation, ())
            ]
            # An end may take until the next lease has its time: only that one
            # has to wait.
            if any(one.reservation in lets_in for one in used):
                _fit(used, capacity[there[0].resource])

    def nothing_is_shown_twice(self, held: list[raw.Held]) -> None:
        """A whole host is of one lease at a time, as administrators see it."""
        wholes = {one.reservation for one in held if one.exclusive}
        answer = self.world.ask('admin', 'GET', '/os-hosts/allocations')
        if answer.status_int != 200:
            return
        for host in answer.json['allocations']:
            found = sorted(
                (one['start_date'], one['end_date'], one['id'])
                for one in host['reservations']
            )
            for before, (start, _, other) in itertools.pairwise(found):
                _, end, one = before
                assert start >= end or not {one, other} & wholes, (
                    f'{host["service_name"]} is shown twice: {found}'
                )

    # Each lease has what it was promised

    def minimum_and_maximum_are_kept(self, held: list[raw.Held]) -> None:
        has = defaultdict(list)
        for one in held:
            if not one.replaced and not one.leaving:
                has[one.reservation].append(one)
        for row in raw.reservations(self.world.region.database):
            if row.status in states.OPEN:
                _check_number(row, has[row.id])

    def new_allocations_fit(self, held: list[raw.Held]) -> None:
        """A new allocation fits, or did so before this step: operators may
        take a property away at any time."""
        fits = raw.of_value(self.world.region.database, worlds.GPU)
        for one in held:
            asked = one.params.get('resource_properties') or ''
            if one.id not in self._given and worlds.GPU in asked:
                assert one.resource in fits | self._fitted, one
            if (
                one.id not in self._given
                and one.start <= self.world.region.now
            ):
                self._check_given_back(one, held)
        self._given |= {one.id for one in held}
        self._fitted = fits

    def _check_given_back(self, new: raw.Held, held: list[raw.Held]) -> None:
        """Nothing is given at once that another lease, though past its end,
        still has."""
        still = [
            one
            for one in held
            if one.resource == new.resource
            and one.reservation != new.reservation
            and one.id in self._given
            and one.end <= new.start
            and (one.exclusive or new.exclusive)
        ]
        assert not still or not self.times_are_exact, (new, still)

    def waiting_leases_hold_nothing(self, held: list[raw.Held]) -> None:
        waiting = [one for one in held if one.status == 'CREATING']
        assert not waiting, waiting

    def limits_are_kept(self, held: list[raw.Held]) -> None:
        if not self.world.settings['limited']:
            return
        region, most = self.world.region, worlds.LIMITS
        leases, waiting = Counter[str](), Counter[str]()
        for row in raw.leases(region.database):
            if not row.by_default:
                is_open = row.status in states.OPEN | states.WAITING
                leases[row.project_id] += is_open
                waiting[row.project_id] += row.status == 'CREATING'
        assert max(leases.values(), default=0) <= most['leases'], leases
        assert max(waiting.values(), default=0) <= most['waiting'], waiting
        counted = [one for one in held if not one.by_default]
        _check_limits(counted, region.now)

    # Nothing is lost

    def nothing_due_is_lost(self, held: list[raw.Held]) -> None:
        for row in raw.leases(self.world.region.database):
            over = row.status in states.OVER and not row.in_nova
            assert over or row.due_at is not None, row

    def closed_leases_hold_nothing(self, held: list[raw.Held]) -> None:
        for one in held:
            assert one.status not in ('TERMINATED', 'TIMEDOUT'), one

    # The past

    def what_is_shown_of_the_past_stays(self, held: list[raw.Held]) -> None:
        known = raw.resources(self.world.region.database)
        ends = {one.reservation: one.end for one in held}
        # A host that is removed takes its past with it. A lease past its end
        # may be prolonged as long as no worker has ended it: it had its hosts.
        self.shown.before = {
            key: (was, then)
            for key, (was, then) in self.shown.before.items()
            if self._resources.get(key[0]) == known.get(key[0])
            and self._ends.get(key[1], then) >= then
        }
        self._resources, self._ends = known, ends
        self.shown.look()

    def rows_of_the_past_stay(self, held: list[raw.Held]) -> None:
        database = self.world.region.database
        after = raw.past(database)
        for key, row in self._past.items():
            if key not in after and key[0] == 'nr_allocations':
                # The lease was deleted, or the resource was removed.
                assert row['reservation_id'] not in raw.ids(
                    database, models.Reservation
                ) or row['resource_id'] not in raw.ids(
                    database, models.Resource
                ), row
            else:
                assert after.get(key) == row, (key, row, after.get(key))
        self._past = after

    def ended_leases_are_shown_the_same(self, held: list[raw.Held]) -> None:
        answer = self.world.ask(
            'admin', 'GET', '/leases?all_tenants=true&status=TERMINATED'
        )
        if answer.status_int != 200:
            return
        # Its owner may still give it another name.
        now = {
            each['id']: {**each, 'name': '', 'updated_at': ''}
            for each in answer.json['leases']
        }
        for key, before in self._ended.items():
            assert now.get(key, before) == before, (before, now[key])
        self._ended = now

    def the_record_is_what_was_held(self, held: list[raw.Held]) -> None:
        self.record.look()


SHOWN: list[Callable[[Invariants, list[raw.Held]], None]] = [
    Invariants.nothing_is_shown_twice,
    Invariants.ended_leases_are_shown_the_same,
]
ALL = [
    member
    for name, member in vars(Invariants).items()
    if not name.startswith('_') and member not in SHOWN and name != 'check'
]


def _by_resource(held: Iterable[raw.Held]) -> Iterable[list[raw.Held]]:
    found: dict[str, list[raw.Held]] = defaultdict(list)
    for one in held:
        found[one.resource].append(one)
    return found.values()


def _fit(together: list[raw.Held], capacity: dict[str, int]) -> None:
    """Check what is held of one resource at the same time."""
    shares = [one for one in together if not one.exclusive]
    wholes = {one.reservation for one in together if one.exclusive}
    assert not wholes or (len(wholes) == 1 and not shares), together
    taken = Counter[str]()
    for one in shares:
        taken.update(one.amounts)
    for name, amount in taken.items():
        if not objects.slots_of(name):
            assert amount <= capacity.get(name, 0), (name, together)


def _check_number(row: Any, has: list[raw.Held]) -> None:
    params = row.params
    if row.resource_type == objects.HOST:
        assert params['min'] <= len(has) <= params['max'], (row, has)
    elif row.resource_type in SLOTS:
        slots = objects.slot_class(row.id)
        number = sum(one.amounts.get(slots, 0) for one in has)
        assert number >= params['amount'], (row, has)
        # An active lease gives slots back when nobody is in them.
        active = row.status == states.Lease.ACTIVE
        assert active or number == params['amount'], (row, has)
    elif row.resource_type in COUNTED:
        assert len(has) == params['amount'], (row, has)
    elif row.resource_type == segment.NETWORK:
        assert len(has) == 1, (row, has)


def _check_limits(held: Iterable[raw.Held], now: datetime.datetime) -> None:
    """Check what each project has at any instant from now on; what it should
    have given back by now does not count here."""
    coming = [one for one in held if one.end > now and not one.replaced]
    for instant in {now, *(one.start for one in coming)}:
        hosts, slots = Counter[str](), Counter[str]()
        for one in coming:
            if not one.goes_on(max(instant, now)):
                continue
            if one.exclusive and one.kind == objects.HOST:
                hosts[one.project] += 1
            # Volumes have slots, too, which this limit is not about.
            if one.kind in SLOTS:
                name = objects.slot_class(one.reservation)
                slots[one.project] += one.amounts.get(name, 0)
        most = worlds.LIMITS
        assert max(hosts.values(), default=0) <= most['hosts'], hosts
        assert max(slots.values(), default=0) <= most['slots'], slots
