# SPDX-License-Identifier: Apache-2.0
"""The flavor and the group of a lease that begins soon exist when the request
for it is answered; workers do what the request has left undone.

Decision 0065: doc/source/decisions/0065-usable-when-answered
"""

import contextlib
import datetime

import pytest

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.engine.leases import series
from nova_reservations.engine.worker import leftovers
from nova_reservations.testing.region import minutes
from nova_reservations.testing.steps import Killed
from nova_reservations.testing.steps import Steps
from nova_reservations.tests import profile
from nova_reservations.tests.functional.engine import test_idempotency
from nova_reservations.tests.functional.engine import test_series
from nova_reservations.tests.functional.engine.test_instances import FLAVOR
from nova_reservations.tests.functional.engine.test_instances import furniture
from nova_reservations.tests.functional.engine.test_instances import kill
from nova_reservations.tests.functional.engine.test_instances import NOTHING
from nova_reservations.tests.functional.engine.test_instances import slots
from nova_reservations.tests.functional.engine.test_instances import TYPES

AHEAD = 10
"""Minutes for which leases are prepared ahead."""

DOWN = exception.CloudUnavailable(service='Placement', reason='it is down')


@pytest.fixture
def region(make_region):
    return make_region('one', 'two', types=TYPES)


def made(region, lease):
    """Return whether the project can name all that its requests may."""
    found = furniture(region, lease)
    return bool(found['flavor']) and found['whose'] == lease.project_id


def nothing_is_left(region):
    cloud = region.cloud
    return not (
        cloud.flavors
        or cloud.admitted
        or cloud.groups
        or cloud.classes
        or cloud.aggregate_hosts
    )


@pytest.mark.parametrize('start', [0, 1, AHEAD])
@pytest.mark.parametrize('affinity', [None, True, False])
def test_a_lease_that_begins_soon_has_its_flavor_and_group_when_answered(
    region, start, affinity
):
    lease = region.lease_of(slots(2, affinity=affinity), start=start, end=60)
    assert furniture(region, lease) == {
        # No server gets in before a worker has started it.
        'slots': {},
        'flavor': ports.Flavor(8, 1024, 10),
        'whose': 'lessee',
        'group': affinity,
        'hosts': None,
    }
    region.forward(until=start)
    assert region.status(lease) == 'ACTIVE'
    assert sum(furniture(region, lease)['slots'].values()) == 2
    region.forward(until=61)
    assert nothing_is_left(region)


def test_a_lease_by_a_flavor_has_its_flavor_when_answered(region):
    big = ports.Flavor(4, 2048, 20)
    region.cloud.known_flavors['big'] = ports.KnownFlavor(
        'big', 'm1.big', True, big, {'VCPU': 4}, frozenset(), frozenset()
    )
    asked = {'flavor_id': 'big', 'amount': 1, 'affinity': None}
    lease = region.lease_of((FLAVOR, asked))
    assert furniture(region, lease)['flavor'] == big
    assert made(region, lease)


def test_a_lease_that_begins_later_has_nothing_yet(region):
    lease = region.lease_of(slots(), start=AHEAD + 1, end=60)
    assert furniture(region, lease) == NOTHING
    assert not region.see(lease).in_nova


@pytest.mark.parametrize(
    ('type_of', 'start'), [(objects.HOST, 0), (objects.HOST, AHEAD)]
)
def test_a_lease_of_hosts_has_nothing_to_be_made(region, type_of, start):
    lease = region.lease_of((type_of, {'min': 1, 'max': 1}), start=start)
    assert not region.see(lease).in_nova
    assert region.cloud.writes == []


def test_a_dry_run_makes_nothing(region):
    asked = test_series.asked(region, 0, 60, test_series.SLOTS, **slots()[1])
    region.leases.create(asked, region.now, dry_run=True)
    repeat = series.Repeat(datetime.timedelta(days=1), 2)
    region.services.series.create(asked, repeat, region.now, dry_run=True)
    assert nothing_is_left(region)


def test_a_lease_that_waits_for_room_gets_nothing(region):
    region.lease(minimum=2)
    waiting = region.lease_of(slots(), lease_type='retry')
    assert waiting.status == 'CREATING'
    assert furniture(region, waiting) == NOTHING
    assert not region.see(waiting).in_nova
    region.delete(waiting)


def test_a_refused_lease_leaves_nothing(region):
    with pytest.raises(exception.NotEnoughResources):
        region.lease_of(slots(1000))
    assert nothing_is_left(region)


def test_leases_of_a_series_that_begin_soon_have_theirs(region):
    made_series = test_series.create(
        region, 1, 60, 2, kind=test_series.SLOTS, **slots()[1]
    )
    first, second = made_series.leases
    assert made(region, first)
    assert furniture(region, second) == NOTHING


def test_a_lease_that_is_deleted_at_once_leaves_nothing(region):
    lease = region.lease_of(slots(affinity=True), start=1, end=60)
    region.delete(lease)
    region.work()
    assert nothing_is_left(region)
    with pytest.raises(exception.NotFound):
        region.see(lease)


def test_a_lease_that_changes_before_its_start_has_another_flavor(region):
    lease = region.lease_of(slots(affinity=True), start=1, end=60)
    region.change(lease, memory_mb=2048, affinity=False)
    region.forward(until=1)
    assert furniture(region, lease)['flavor'].memory_mb == 2048
    assert furniture(region, lease)['group'] is False
    assert made(region, lease)


@pytest.mark.parametrize(
    'error',
    [DOWN, exception.CloudRefused(what='Flavor', reason='its name is taken')],
)
@pytest.mark.parametrize('step', ['create class', 'create flavor', 'admit'])
def test_a_cloud_that_refuses_or_is_down_does_not_refuse_the_lease(
    region, step, error
):
    region.fails(step, error)
    lease = region.lease_of(slots())
    assert lease.status == 'PENDING'
    assert not made(region, lease)
    region.work()
    assert region.status(lease) == 'ACTIVE'
    assert made(region, lease)


def test_a_database_that_is_down_after_the_booking_does_not_either(
    region, monkeypatch
):
    def down():
        raise exception.DatabaseUnavailable(reason='it is down')

    monkeypatch.setattr(region.database, 'causal_reader', down)
    lease = region.lease_of(slots())
    monkeypatch.undo()
    region.work()
    assert made(region, lease)


@pytest.mark.parametrize('step', ['create class', 'create flavor', 'admit'])
def test_nothing_more_is_made_of_a_lease_that_was_deleted(region, step):
    def delete(name):
        if name == step:
            region.cloud.before = lambda name: None
            [lease] = region.lease_lists.find(objects.LeaseQuery())
            region.delete(lease)

    region.cloud.before = delete
    region.lease_of(slots(affinity=True))
    assert not region.cloud.admitted or step == 'admit'
    region.work()
    assert nothing_is_left(region)


def test_the_flavor_of_a_lease_that_has_changed_is_not_made(region):
    def change(name):
        region.cloud.before = lambda name: None
        [lease] = region.lease_lists.find(objects.LeaseQuery())
        region.change(lease, memory_mb=2048)

    region.cloud.before = change
    lease = region.lease_of(slots(), start=1, end=60)
    assert furniture(region, lease)['flavor'] is None
    region.work()
    assert furniture(region, lease)['flavor'].memory_mb == 2048


def test_a_worker_may_start_the_lease_meanwhile(region):
    def start(name):
        region.cloud.before = lambda name: None
        region.work()

    for step in ('create class', 'create flavor', 'admit'):
        region.cloud.before = lambda name, step=step: (
            start(name) if name == step else None
        )
        lease = region.lease_of(slots(2, affinity=True))
        assert region.status(lease) == 'ACTIVE'
        found = furniture(region, lease)
        assert made(region, lease)
        assert sum(found['slots'].values()) == 2
        assert found['group'] is True


def test_a_request_that_is_repeated_makes_what_the_first_one_could_not(
    region,
):
    again = {'start': AHEAD, 'end': 60, 'key': test_idempotency.key()}
    with Steps(region, 3, kill), contextlib.suppress(Killed):
        region.lease_of(slots(affinity=True), **again)
    lease = region.lease_of(slots(affinity=True), **again)
    assert made(region, lease)
    assert furniture(region, lease)['group'] is True


def test_a_repeated_request_makes_nothing_of_a_lease_that_has_begun_or_ended(
    region,
):
    again = {'end': 60, 'key': test_idempotency.key()}
    region.lease_of(slots(), **again)
    region.work()
    region.cloud.writes.clear()
    region.lease_of(slots(), **again)
    region.forward(until=61)
    region.cloud.writes.clear()
    region.lease_of(slots(), **again)
    assert region.cloud.writes == []
    assert nothing_is_left(region)


# A process of nova-api that is killed between any two steps


@pytest.mark.fuzz
@pytest.mark.parametrize('deleted', [False, True])
def test_workers_finish_or_sweep_what_a_killed_request_has_begun(
    make_region, deleted
):
    for number in profile.steps():
        region = make_region('one', 'two', types=TYPES)
        with Steps(region, number, kill) as steps:
            with contextlib.suppress(Killed):
                region.lease_of(slots(2, affinity=True), end=60)
        leases = region.lease_lists.find(objects.LeaseQuery())
        for lease in leases:
            if deleted:
                region.delete(lease)
        region.work()
        for lease in leases:
            if not deleted:
                assert region.status(lease) == 'ACTIVE'
                assert made(region, lease)
                assert furniture(region, lease)['group'] is True
        region.forward(until=61)
        assert nothing_is_left(region)
        if not steps.reached:
            break
    assert number >= 4


def test_a_request_that_wakes_after_the_end_of_its_lease_leaves_nothing(
    region,
):
    """The process was suspended just before it wrote."""

    def end(name):
        region.cloud.before = lambda name: None
        [lease] = region.lease_lists.find(objects.LeaseQuery())
        region.delete(lease)
        region.work()
        region.now += minutes(1)

    region.cloud.before = end
    region.lease_of(slots(affinity=True))
    assert region.cloud.classes and not region.cloud.flavors
    leftovers.Sweep(region.database, region.cloud).run()
    assert nothing_is_left(region)


@pytest.mark.parametrize(
    'step', ['create class', 'create flavor', 'create group', 'admit']
)
def test_a_write_that_comes_after_the_end_is_swept(region, step):
    def end(name):
        if name == step:
            region.cloud.before = lambda name: None
            [lease] = region.lease_lists.find(objects.LeaseQuery())
            region.delete(lease)
            region.work()
            region.now += minutes(1)

    region.cloud.before = end
    region.lease_of(slots(affinity=True))
    leftovers.Sweep(region.database, region.cloud).run()
    assert nothing_is_left(region)
