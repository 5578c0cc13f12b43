# SPDX-License-Identifier: Apache-2.0
"""Reports and purges of the record on each kind of database."""

import datetime
import itertools

import pytest
import sqlalchemy as sa

from nova_reservations import objects
from nova_reservations.db import models
from nova_reservations.engine.record import usage_reports
from nova_reservations.engine.upkeep import purge
from nova_reservations.objects import states
from nova_reservations.objects import usage_reports as reports
from nova_reservations.testing import options
from nova_reservations.tests import booking

PROJECTS = ('a', 'b', 'c')

HOUR = datetime.timedelta(hours=1)


def lasting(lease, start, end):
    return {
        'lease_id': lease,
        'reservation_id': lease,
        'project_id': lease[0],
        'user_id': 'user',
        'started_at': booking.at(start),
        'ended_at': None if end is None else booking.at(end),
    }


def had(lease, start, end, amount=1):
    return lasting(lease, start, end) | {
        'lease_name': lease,
        'lease_type': 'scheduled',
        'resource_type': objects.HOST,
        'resource_class': 'VCPU',
        'amount': amount,
        'degraded': False,
    }


@pytest.fixture
def database(any_database):
    with any_database.writer() as session:
        session.execute(
            sa.insert(models.Usage),
            [
                had('a1', 0, 10),
                had('a1', 10, None, amount=3),
                had('a2', 30, 40),
                had('b1', 0, 5, amount=2),
                had('c1', 50, None),
            ],
        )
        session.execute(
            sa.insert(models.ServerUsage).values(
                **lasting('a1', 2, 12),
                server_uuid='server',
                flavor='m1',
                vcpus=4,
                memory_mb=512,
                disk_gb=1,
            )
        )
    return any_database


def found(database, start, end, now=60, **more):
    """Return project -> lease -> (reserved, used) VCPU hours."""
    query = reports.ReportQuery(
        booking.window(start, end), booking.at(now), **more
    )
    return {
        usage.project_id: {
            lease.lease_id: (
                lease.reserved['VCPU'] / 3600,
                lease.used['VCPU'] / 3600,
            )
            for lease in usage.leases
        }
        for usage in usage_reports.UsageReports(database, None, 2).find(query)
    }


def test_a_report_has_what_stands_in_its_window(database):
    assert found(database, 4, 12) == {
        'a': {'a1': (6 + 2 * 3, 8 * 4)},
        'b': {'b1': (2, 0)},
    }
    assert found(database, 4, 12, project_id='b') == {'b': {'b1': (2, 0)}}
    assert found(database, 5, 10, project_id='b') == {}


def test_usage_that_goes_on_counts_until_now(database):
    assert found(database, 20, 99, now=22) == {'a': {'a1': (6, 0)}}
    assert found(database, 30, 99, now=22) == {}


def test_projects_come_in_pages(database):
    assert [*found(database, 0, 60)] == ['a', 'b', 'c']
    assert [*found(database, 0, 60, limit=1)] == ['a']
    assert [*found(database, 0, 60, marker='a', limit=1)] == ['b']
    assert [*found(database, 20, 60, marker='a', limit=1)] == ['c']


def test_a_lease_began_when_its_record_does(database):
    window = booking.window(10, 20)
    query = reports.ReportQuery(window, booking.at(60), 'a')
    [usage] = usage_reports.UsageReports(database, None, 2).find(query)
    [lease] = usage.leases
    # Its row in the window begins with the window; its record began before.
    assert lease.started_at == booking.at(0)
    assert not lease.begins


def fill_leases(database, count):
    """Add leases that end hour by hour; every third one is active."""
    ids = [f'{number:036}' for number in range(count)]
    new = {'created_at': booking.NOW}
    with database.writer() as session:
        host = booking.enrol(session, 'host')
        session.execute(
            sa.insert(models.Lease),
            [
                new
                | {
                    'id': each,
                    'name': each,
                    'project_id': 'a',
                    'user_id': 'user',
                    'start_date': booking.at(number),
                    'end_date': booking.at(number + 1),
                    'status': states.Lease.TERMINATED
                    if number % 3
                    else states.Lease.ACTIVE,
                }
                for number, each in enumerate(ids)
            ],
        )
        session.execute(
            sa.insert(models.Reservation),
            [
                new
                | {
                    'id': each,
                    'lease_id': each,
                    'position': 0,
                    'resource_type': objects.HOST,
                    'status': states.Reservation.DELETED,
                    'params': {},
                }
                for each in ids
            ],
        )
        session.execute(
            sa.insert(models.Event),
            [
                new
                | {
                    'id': f'{kind}{each[-8:]}',
                    'lease_id': each,
                    'event_type': kind,
                    'time': booking.NOW,
                    'status': states.Event.DONE,
                }
                for each in ids
                for kind in states.EventType
            ],
        )
        session.execute(
            sa.insert(models.Allocation),
            [
                {
                    'reservation_id': each,
                    'resource_id': host,
                    'start_date': booking.NOW,
                    'end_date': booking.at(1),
                    'exclusive': True,
                    'released': True,
                }
                for each in ids
            ],
        )


def test_a_purge_deletes_whole_leases_and_the_record_by_its_own_time(
    database, monkeypatch
):
    monkeypatch.setattr(purge, 'LEASES', 4)
    monkeypatch.setattr(purge, 'ROWS', 2)
    fill_leases(database, 15)
    purges = purge.Purge(database, options.engine_settings())
    asked = purge.Cutoffs(booking.at(12), booking.at(35))
    counted = purges.count(asked)
    assert counted == purges.purge(asked)
    gone = {kind: count for kind, count in counted.items() if count}
    # Of the eleven leases that are old enough, four are active. Of the record,
    # two rows of usage and one of a server have ended.
    assert gone == {
        'leases': 7,
        'reservations': 7,
        'events': 21,
        'allocations': 7,
        'records': 3,
    }
    with database.reader() as session:
        left = session.scalars(
            sa.select(models.Lease.id).order_by(models.Lease.id)
        ).all()
    assert [int(each) for each in left] == [
        *itertools.chain(range(0, 11, 3), range(11, 15))
    ]
