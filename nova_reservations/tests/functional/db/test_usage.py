# SPDX-License-Identifier: Apache-2.0
"""The usage record is written when the resources of leases change, and is read
by window, on each kind of database."""

import dataclasses

import pytest
import sqlalchemy as sa

from nova_reservations import objects
from nova_reservations.db.holdings import allocations
from nova_reservations.db.leases import leases
from nova_reservations.db.record import usage
from nova_reservations.objects import states
from nova_reservations.objects import usage as records
from nova_reservations.tests import booking

WHOLE = records.UsageQuery(booking.at(-99), booking.at(99))


@pytest.fixture
def session(any_database):
    with any_database.writer() as session:
        yield session


def active_lease(session, hosts, end=9):
    """Return an active lease that has whole hosts."""
    reservation_id = booking.reservation(session, 0, end)
    for host in hosts:
        booking.book(session, host, 0, end, reservation_id=reservation_id)
    session.flush()
    [lease] = [
        lease
        for lease in leases.meeting(session, leases.LEASE.c.name == '')
        if lease.reservations[0].id == reservation_id
    ]
    return dataclasses.replace(
        lease, status=states.Lease.ACTIVE, end_date=booking.at(end)
    )


def leave_one(session, lease):
    host = min(allocations.held_by(session, lease))
    allocations.delete(session, lease.reservations[0].id, [host])


def had(session, query=WHOLE):
    """Return (class, amount, degraded, from, to), the times in hours."""
    return sorted(
        (
            row.resource_class,
            row.amount,
            row.degraded,
            hours(row.started_at),
            row.ended_at and hours(row.ended_at),
        )
        for row in usage.find(session, query)
    )


def hours(time):
    return (time - booking.NOW).total_seconds() / 3600


def over(lease):
    return dataclasses.replace(lease, status=states.Lease.TERMINATING)


class TestWholeHosts:
    @pytest.fixture
    def lease(self, session):
        hosts = [booking.enrol(session, name) for name in ('one', 'two')]
        return active_lease(session, hosts)

    def test_whole_hosts_count_as_hosts_and_by_what_they_have(
        self, session, lease
    ):
        assert usage.settle(session, [lease], booking.at(1))
        assert not usage.settle(session, [lease], booking.at(2))
        assert had(session) == [
            ('DISK_GB', 2000, False, 1, None),
            ('MEMORY_MB', 131072, False, 1, None),
            ('VCPU', 32, False, 1, None),
            ('physical:host', 2, False, 1, None),
        ]

    def test_fewer_hosts_are_a_row_of_their_own(self, session, lease):
        usage.settle(session, [lease], booking.at(1))
        leave_one(session, lease)
        usage.settle(session, [lease], booking.at(3))
        usage.settle(session, [over(lease)], booking.at(4))
        assert [row for row in had(session) if row[0] == objects.HOST] == [
            (objects.HOST, 1, False, 3, 4),
            (objects.HOST, 2, False, 1, 3),
        ]

    def test_a_lease_that_changes_twice_in_a_second_changed_once(
        self, session, lease
    ):
        usage.settle(session, [lease], booking.at(1))
        leave_one(session, lease)
        usage.settle(session, [lease], booking.at(1))
        assert [row for row in had(session) if row[0] == objects.HOST] == [
            (objects.HOST, 1, False, 1, None)
        ]
        usage.settle(session, [over(lease)], booking.at(1))
        assert had(session) == []

    def test_an_end_that_is_seen_late_was_in_time(self, session, lease):
        usage.settle(session, [lease], booking.at(1))
        leave_one(session, lease)
        usage.settle(session, [lease], booking.at(11))
        usage.settle(session, [over(lease)], booking.at(12))
        assert {row[1:] for row in had(session) if row[0] == 'VCPU'} == {
            (32, False, 1, 9)
        }


def test_slots_count_as_slots_and_by_what_they_hold(session):
    host = booking.enrol(session, 'one')
    lease = active_lease(session, [])
    [reservation] = lease.reservations
    allocations.insert(
        session,
        reservation.id,
        {host: 3},
        {'VCPU': 2, 'CUSTOM_GPU': 1},
        booking.window(0, 9),
    )
    usage.settle(session, [lease], booking.at(1))
    assert had(session) == [
        ('CUSTOM_GPU', 3, False, 1, None),
        ('VCPU', 6, False, 1, None),
        ('slots', 3, False, 1, None),
    ]


class TestQueries:
    @pytest.fixture(autouse=True)
    def some(self, session, monkeypatch):
        monkeypatch.setattr(usage, 'CHUNK', 3)
        hosts = [booking.enrol(session, name) for name in ('one', 'two')]
        for number, host in enumerate(hosts):
            lease = active_lease(session, [host])
            lease = dataclasses.replace(lease, project_id=f'project {number}')
            usage.settle(session, [lease], booking.at(1 + number))
            if number:
                usage.settle(session, [over(lease)], booking.at(4))

    def test_usage_that_goes_on_comes_first(self, session):
        found = list(usage.find(session, WHOLE))
        assert len({row.id for row in found}) == len(found) == 8
        assert [row.ended_at for row in found] == [None] * 4 + [
            booking.at(4)
        ] * 4

    @pytest.mark.parametrize(
        ('start', 'end', 'count'),
        [(0, 1, 0), (0, 2, 4), (3, 5, 8), (4, 5, 4)],
    )
    def test_a_window_has_its_end_but_not_what_begins_then(
        self, session, start, end, count
    ):
        query = records.UsageQuery(booking.at(start), booking.at(end))
        assert len(list(usage.find(session, query))) == count

    def test_usage_of_a_project_is_found(self, session):
        query = dataclasses.replace(WHOLE, project_id='project 1')
        found = list(usage.find(session, query))
        assert {row.project_id for row in found} == {'project 1'}
        assert {
            hours(booking.NOW + row.within(booking.at(3), booking.at(9)))
            for row in found
        } == {1}

    def test_pages_have_each_row_once_whatever_it_began_with(self, session):
        times = [
            (start, end) for end in (None, 7, 6) for start in (5, 1, 3, 1, 5)
        ]
        of_all = dict.fromkeys(
            (each.name for each in usage.USAGE.c if not each.nullable), 1
        )
        del of_all['id']
        session.execute(
            sa.insert(usage.USAGE),
            [
                of_all
                | {
                    'project_id': 'other',
                    'started_at': booking.at(start),
                    'ended_at': end and booking.at(end),
                }
                for start, end in times
            ],
        )
        query = dataclasses.replace(WHOLE, project_id='other')
        found = [
            (hours(row.started_at), row.ended_at and hours(row.ended_at))
            for row in usage.find(session, query)
        ]
        assert found == sorted(
            times, key=lambda row: (row[1] is not None, row[1], row[0])
        )
