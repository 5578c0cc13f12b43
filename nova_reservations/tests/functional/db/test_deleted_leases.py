# SPDX-License-Identifier: Apache-2.0
import dataclasses

import pytest
import sqlalchemy as sa

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.db.leases import belongings
from nova_reservations.db.leases import deleted_leases
from nova_reservations.db.leases import leases
from nova_reservations.db.upkeep import purge
from nova_reservations.engine.leases import lease_lists
from nova_reservations.objects import states
from nova_reservations.tests import booking
from nova_reservations.tests import conftest


def begun(session, name=''):
    """Return the lease as it is after its start."""
    [lease] = leases.meeting(session, leases.LEASE.c.name == name)
    start = objects.Event(
        '',
        lease.id,
        states.EventType.START,
        lease.start_date,
        states.Event.DONE,
        booking.NOW,
        None,
    )
    return dataclasses.replace(lease, events=(start,))


def test_a_lease_is_kept_as_it_was(any_database):
    with any_database.writer() as session:
        reservation_id = booking.reservation(session, 0, 9)
        lease = begun(session)
        deleted_leases.keep(session, lease, booking.at(3))
    with any_database.reader() as session:
        kept = deleted_leases.get(session, lease.id)
        found = deleted_leases.page(session, objects.LeaseQuery(limit=2))
    assert kept == dataclasses.replace(lease, deleted_at=booking.at(3))
    assert kept.reservations[0].id == reservation_id
    assert found == ([kept], None)


def test_the_reservations_that_they_had_are_known(any_database):
    with any_database.writer() as session:
        reservation_id = booking.reservation(session, 0, 9)
        lease = begun(session)
        deleted_leases.keep(session, lease, booking.at(3))
    with any_database.reader() as session:
        asked = [reservation_id, lease.id, 'unknown']
        assert deleted_leases.had(session, asked) == {reservation_id}
        assert deleted_leases.had(session, []) == set()
    with any_database.writer() as session:
        purge.remove_deleted(session, booking.at(4), 1)
        assert deleted_leases.had(session, asked) == set()


def test_a_lease_that_had_no_reservations_is_kept(any_database):
    with any_database.writer() as session:
        booking.reservation(session, 0, 9)
        lease = begun(session)
        bare = dataclasses.replace(lease, reservations=())
        deleted_leases.keep(session, bare, booking.at(3))
    with any_database.reader() as session:
        assert deleted_leases.get(session, lease.id).reservations == ()


def test_of_a_lease_that_had_not_begun_only_ids_are_kept_and_for_a_day(
    any_database,
):
    with any_database.writer() as session:
        reservation_id = booking.reservation(session, 0, 9)
        [lease] = leases.meeting(session, leases.LEASE.c.name == '')
        lease = dataclasses.replace(lease, status=states.Lease.DELETING)
        deleted_leases.keep(session, lease, booking.at(3))
        assert deleted_leases.had(session, [reservation_id])
        assert purge.remove_promises(session, booking.at(3), 9) == 0
        assert purge.remove_promises(session, booking.at(4), 9) == 1
        assert not deleted_leases.had(session, [reservation_id])
        with pytest.raises(exception.NotFound):
            deleted_leases.get(session, lease.id)


@pytest.mark.parametrize(
    ('status', 'is_known'),
    [
        ('IN_PROGRESS', False),
        ('PENDING', False),
        ('TIMEDOUT', False),
        # Its start failed, or its servers were gone before it.
        ('ERROR', True),
        ('TERMINATED', True),
    ],
)
def test_ids_are_known_only_if_something_may_have_been_made(
    database, status, is_known
):
    with database.writer() as session:
        reservation_id = booking.reservation(session, 0, 9)
        [lease] = leases.meeting(session, leases.LEASE.c.name == '')
        lease = dataclasses.replace(lease, status=states.Lease(status))
        deleted_leases.keep(session, lease, booking.at(3))
        assert bool(deleted_leases.had(session, [reservation_id])) is is_known


def test_lists_with_them_are_in_one_order_whatever_the_locale(tmp_path):
    """PostgreSQL sorts by its locale, but our code merges both lists."""
    names = ['B', 'a', 'C', 'b', 'A', 'a b', 'a-c', '\u00e4', 'z', 'ab']
    with conftest.empty_database('postgresql', tmp_path) as url:
        let_sort_as_a_dictionary(url)
        with conftest.with_tables(url) as database:
            with database.writer() as session:
                for number, name in enumerate(names):
                    booking.reservation(session, number, number + 9)
                    [lease] = leases.meeting(
                        session, leases.LEASE.c.name == ''
                    )
                    leases.change(session, lease, booking.NOW, name=name)
                    if number % 2:
                        lease = begun(session, name)
                        deleted_leases.keep(session, lease, booking.NOW)
                        belongings.remove_leases(session, [lease.id])
            lists = lease_lists.LeaseLists(database, {})
            for descending in (False, True):
                query = objects.LeaseQuery(
                    sort_key='name', descending=descending, deleted=None
                )
                found = [lease.name for lease in lists.find(query)]
                assert found == sorted(names, reverse=descending)


def let_sort_as_a_dictionary(url):
    """Create a database again, with a locale that ignores case and marks."""
    name = sa.make_url(url).database
    server = sa.create_engine(
        sa.make_url(url).set(database='postgres'),
        isolation_level='AUTOCOMMIT',
        poolclass=sa.NullPool,
    )
    with server.connect() as connection:
        connection.execute(sa.text(f'DROP DATABASE {name}'))
        connection.execute(
            sa.text(
                f'CREATE DATABASE {name} TEMPLATE template0 '
                "LOCALE_PROVIDER icu ICU_LOCALE 'de-DE'"
            )
        )
