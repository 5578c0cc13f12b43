# SPDX-License-Identifier: Apache-2.0
"""Leases as rows: lists, pages, conditional writes; on every database."""

import dataclasses
import datetime
import itertools
import uuid

from oslo_db import exception as db_exc
import pytest
import sqlalchemy as sa

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.db.leases import lease_pages
from nova_reservations.db.leases import leases
from nova_reservations.objects import states

NOON = datetime.datetime(2030, 1, 1, 12, tzinfo=datetime.UTC)


def hours(count):
    return datetime.timedelta(hours=count)


def lease(**changes):
    lease_id = str(uuid.uuid4())
    plain = objects.Lease(
        id=lease_id,
        name='a lease',
        project_id='p',
        user_id='u',
        start_date=NOON,
        end_date=NOON + hours(1),
        lease_type=states.LeaseType.SCHEDULED,
        max_retries=None,
        arrival=None,
        duration=None,
        status=states.Lease.PENDING,
        status_reason=None,
        degraded=False,
        in_nova=False,
        prepared=False,
        version=0,
        attempt=0,
        claimed_by=None,
        due_at=None,
        created_at=NOON,
        updated_at=None,
        reservations=(
            objects.Reservation(
                id=str(uuid.uuid4()),
                lease_id=lease_id,
                resource_type=objects.HOST,
                status=states.Reservation.PENDING,
                params={'min': 1, 'text': '名前 🧊', 'list': [1, None]},
                missing_resources=False,
                resources_changed=False,
                created_at=NOON,
                updated_at=None,
            ),
        ),
        events=tuple(
            objects.Event(
                id=str(uuid.uuid4()),
                lease_id=lease_id,
                event_type=kind,
                time=NOON + hours(number),
                status=states.Event.UNDONE,
                created_at=NOON,
                updated_at=None,
            )
            for number, kind in enumerate(states.EventType)
        ),
    )
    return dataclasses.replace(plain, **changes)


def store(database, *new):
    with database.writer() as session:
        for one in new:
            leases.insert(session, one)


def read(database, one):
    with database.reader() as session:
        return leases.get(session, one.id)


def listed(database, **query):
    with database.reader() as session:
        return [
            one.name
            for one in lease_pages.page(session, objects.LeaseQuery(**query))[
                0
            ]
        ]


def test_a_lease_is_read_as_it_was_written(any_database):
    one = lease(name="名前 🧊 '%_", status_reason='x' * 2000)
    store(any_database, one)
    assert read(any_database, one) == one


def test_there_is_no_other(any_database):
    with pytest.raises(exception.NotFound):
        read(any_database, lease())


def test_fractions_of_seconds_are_cut_off(any_database):
    one = lease(due_at=NOON + datetime.timedelta(microseconds=999_999))
    store(any_database, one)
    assert read(any_database, one).due_at == NOON


def test_times_of_other_zones_are_stored_in_utc(any_database):
    tokyo = datetime.timezone(hours(9))
    one = lease(due_at=NOON.astimezone(tokyo))
    store(any_database, one)
    assert read(any_database, one).due_at == NOON
    assert read(any_database, one).due_at.utcoffset() == hours(0)


def test_a_list_has_what_its_filters_say(any_database):
    store(
        any_database,
        lease(name='mine'),
        lease(name='of others', project_id='q'),
        lease(name='active', status=states.Lease.ACTIVE),
        lease(
            name='later',
            start_date=NOON + hours(2),
            end_date=NOON + hours(3),
        ),
    )
    assert listed(any_database, project_id='q') == ['of others']
    assert listed(any_database, statuses=(states.Lease.ACTIVE,)) == ['active']
    assert listed(any_database, name='mine') == ['mine']
    assert listed(any_database, name='Mine') == []
    both = (states.Lease.ACTIVE, states.Lease.TERMINATED)
    assert listed(any_database, statuses=both) == ['active']
    assert listed(any_database, start_after=NOON + hours(2)) == ['later']
    assert listed(any_database, end_after=NOON + hours(1)) == ['later']
    assert 'later' not in listed(any_database, start_before=NOON + hours(2))
    assert set(listed(any_database, end_before=NOON + hours(1))) == {
        'mine',
        'of others',
        'active',
    }


def test_windows_that_touch_do_not_overlap(any_database):
    store(
        any_database,
        *(
            lease(
                name=str(start),
                start_date=NOON + hours(start),
                end_date=NOON + hours(start + 2),
            )
            for start in range(6)
        ),
    )
    over = {'end_after': NOON + hours(3), 'start_before': NOON + hours(4)}
    assert {*listed(any_database, **over)} == {'2', '3'}


def test_leases_created_or_changed_since_then_are_listed(any_database):
    store(
        any_database,
        lease(name='old', created_at=NOON, updated_at=NOON),
        lease(name='new', created_at=NOON + hours(2)),
        lease(name='changed', created_at=NOON, updated_at=NOON + hours(2)),
        lease(name='of others', created_at=NOON + hours(3), project_id='q'),
    )
    since = {'changed_since': NOON + hours(2), 'sort_key': 'name'}
    found = listed(any_database, **since)
    assert found == ['changed', 'new', 'of others']
    assert listed(any_database, project_id='q', **since) == ['of others']


@pytest.mark.parametrize('descending', [False, True])
@pytest.mark.parametrize('key', sorted(lease_pages.SORT_KEYS))
def test_pages_are_the_list_cut_in_pieces(database, key, descending):
    """This holds even if many leases have the same sort key."""
    new = [
        lease(
            name=f'lease {number}',
            start_date=NOON + hours(number // 4),
            end_date=NOON + hours(9),
            created_at=NOON + hours(number // 3),
        )
        for number in range(10)
    ]
    store(database, *new)
    order = {'sort_key': key, 'descending': descending}
    whole = listed(database, **order)
    assert len(whole) == 10
    ids = {one.name: one.id for one in new}
    pages, marker = [], None
    while page := listed(database, limit=3, marker=marker, **order):
        pages += page
        marker = ids[page[-1]]
    assert pages == whole


def test_a_list_without_a_limit_is_whole(any_database):
    store(any_database, *(lease(name=str(n)) for n in range(501)))
    assert len(listed(any_database)) == 501


@pytest.mark.parametrize('owner', ['q', None])
def test_a_marker_that_the_project_can_not_see_is_none(database, owner):
    other = lease(project_id=owner or 'p')
    store(database, lease(), *([other] if owner else []))
    with pytest.raises(exception.InvalidInput, match='is no lease'):
        listed(database, project_id='p', marker=other.id)


def test_a_marker_that_no_longer_meets_the_filter_is_still_one(database):
    one = lease(status=states.Lease.ACTIVE)
    store(database, one)
    assert (
        listed(database, statuses=(states.Lease.PENDING,), marker=one.id) == []
    )


def test_a_change_is_made_once_to_what_was_seen(any_database):
    seen = lease()
    store(any_database, seen)
    with any_database.writer() as session:
        leases.change(session, seen, NOON + hours(1), name='new')
    changed = read(any_database, seen)
    assert (changed.name, changed.version) == ('new', 1)
    assert changed.updated_at == NOON + hours(1)
    with pytest.raises(exception.Conflict):
        with any_database.writer() as session:
            leases.change(session, seen, NOON, name='late')
    assert read(any_database, seen) == changed


def test_a_lease_that_was_changed_since_it_was_seen_stays(any_database):
    seen = lease()
    store(any_database, seen)
    with any_database.writer() as session:
        leases.change(session, seen, NOON)
    with pytest.raises(exception.Conflict):
        with any_database.writer() as session:
            leases.delete(session, seen)
    with any_database.writer() as session:
        leases.delete(session, read(any_database, seen))
    with pytest.raises(exception.NotFound):
        read(any_database, seen)


def test_a_status_that_there_is_not_is_refused_by_the_database(any_database):
    seen = lease()
    store(any_database, seen)
    # PyMySQL reports a failed check as an OperationalError.
    with pytest.raises((db_exc.DBError, sa.exc.OperationalError)):
        with any_database.writer() as session:
            session.execute(sa.update(leases.LEASE).values(status='ASLEEP'))
    assert read(any_database, seen) == seen


def in_states(lease_status, reservation_status, event_status):
    """Return a lease with these states of itself and all that it has."""
    plain = lease()
    return dataclasses.replace(
        plain,
        status=lease_status,
        reservations=tuple(
            dataclasses.replace(item, status=reservation_status)
            for item in plain.reservations
        ),
        events=tuple(
            objects.Event(
                id=str(uuid.uuid4()),
                lease_id=plain.id,
                event_type=kind,
                time=NOON + hours(position),
                status=event_status,
                created_at=NOON,
                updated_at=None,
            )
            for position, kind in enumerate(states.EventType)
        ),
    )


def pairs(kind):
    return itertools.product(kind, kind)


def may_follow(table, old, new):
    return old == new or new in table[old]


def changed(database, seen, **changes):
    """Return the lease after the change, or None if that was refused."""
    store(database, seen)
    try:
        with database.writer() as session:
            leases.change(session, seen, NOON, name='new', **changes)
    except exception.InvalidTransition:
        assert read(database, seen) == seen
        return None
    return read(database, seen)


def test_a_lease_gets_only_a_state_that_may_follow_its_own(database):
    for old, new in pairs(states.Lease):
        after = changed(
            database,
            in_states(old, states.Reservation.PENDING, states.Event.UNDONE),
            status=new,
        )
        if may_follow(states.LEASE_TRANSITIONS, old, new):
            assert after.status == new
        else:
            assert after is None


def test_a_reservation_gets_only_a_state_that_may_follow_its_own(database):
    for old, new in pairs(states.Reservation):
        after = changed(
            database,
            in_states(states.Lease.PENDING, old, states.Event.UNDONE),
            reservations=new,
        )
        if may_follow(states.RESERVATION_TRANSITIONS, old, new):
            assert [item.status for item in after.reservations] == [new]
        else:
            assert after is None


@pytest.mark.parametrize('kind', states.EventType)
def test_an_event_gets_only_a_state_that_may_follow_its_own(database, kind):
    for old, new in pairs(states.Event):
        after = changed(
            database,
            in_states(states.Lease.PENDING, states.Reservation.PENDING, old),
            events={kind: new},
        )
        if may_follow(states.EVENT_TRANSITIONS, old, new):
            assert [
                (event.event_type, event.status) for event in after.events
            ] == [
                (event_type, new if event_type == kind else old)
                for event_type in states.EventType
            ]
        else:
            assert after is None


def test_an_event_that_moves_gets_only_a_state_that_may_follow_its_own(
    database,
):
    for old, new in pairs(states.Event):
        seen = in_states(states.Lease.PENDING, states.Reservation.PENDING, old)
        event = seen.events[0]
        store(database, seen)
        later = NOON + hours(1)
        with database.writer() as session:
            if may_follow(states.EVENT_TRANSITIONS, old, new):
                leases.move_event(session, event, later, NOON, new)
                expected = (later, new)
            else:
                with pytest.raises(exception.InvalidTransition):
                    leases.move_event(session, event, later, NOON, new)
                expected = (event.time, old)
        moved = read(database, seen).event(event.event_type)
        assert (moved.time, moved.status) == expected


def test_leases_start_together_only_if_each_of_them_may_start(database):
    for lease_status, reservation_status, event_status in itertools.product(
        states.Lease, states.Reservation, states.Event
    ):
        first = in_states(
            states.Lease.PENDING,
            states.Reservation.PENDING,
            states.Event.UNDONE,
        )
        second = in_states(lease_status, reservation_status, event_status)
        store(database, first)
        store(database, second)
        may_start = (
            may_follow(
                states.LEASE_TRANSITIONS, lease_status, states.Lease.ACTIVE
            )
            and may_follow(
                states.RESERVATION_TRANSITIONS,
                reservation_status,
                states.Reservation.ACTIVE,
            )
            and may_follow(
                states.EVENT_TRANSITIONS, event_status, states.Event.DONE
            )
        )
        seen = {first.id: first, second.id: second}
        try:
            with database.writer() as session:
                leases.activate(session, seen, dict.fromkeys(seen), NOON)
        except exception.InvalidTransition:
            assert not may_start
            assert read(database, first) == first
            assert read(database, second) == second
        else:
            assert may_start
            assert read(database, first).status == states.Lease.ACTIVE
            assert read(database, second).status == states.Lease.ACTIVE
