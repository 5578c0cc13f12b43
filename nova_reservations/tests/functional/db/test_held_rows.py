# SPDX-License-Identifier: Apache-2.0
"""The database and Python have the same rule for what is in the way."""

import itertools

import sqlalchemy as sa

from nova_reservations.db import models
from nova_reservations.db.holdings import held_rows
from nova_reservations.objects import interval
from nova_reservations.tests import booking

HOURS = range(5)


def fill(session):
    """Book hosts for all windows, as they are and replaced."""
    for start, end in itertools.combinations(HOURS, 2):
        for replaced in (False, True):
            name = f'{start}-{end}-{replaced}'
            host = booking.enrol(session, name)
            reservation_id = booking.book(session, host, start, end)
            if replaced:
                session.execute(
                    sa.update(models.Allocation)
                    .where(models.Allocation.reservation_id == reservation_id)
                    .values(replaced_at=booking.at(start))
                )


def test_the_database_finds_what_python_finds_in_the_way(any_database):
    with any_database.writer() as session:
        fill(session)
    with any_database.reader() as session:
        everything = held_rows.read(session, held_rows.query())
        assert len(everything) == 20
        for (start, end), now, of_shares in itertools.product(
            itertools.combinations(HOURS, 2), HOURS, (False, True)
        ):
            window = interval.Interval(booking.at(start), booking.at(end))
            conditions = held_rows.in_the_way(
                held_rows.ALLOCATION.c,
                window,
                booking.at(now),
                of_shares=of_shares,
            )
            found = held_rows.read(session, held_rows.query(*conditions))
            assert {each.id for each in found} == {
                each.id
                for each in everything
                if each.is_in_the_way(
                    window, booking.at(now), of_shares=of_shares
                )
            }


def test_a_late_holding_is_over_in_the_next_second_at_the_earliest(
    any_database,
):
    with any_database.writer() as session:
        host = booking.enrol(session, 'a')
        booking.book(session, host, 1, 2)
    with any_database.reader() as session:
        [held] = held_rows.read(session, held_rows.query())
    for now in HOURS:
        soon = interval.soon(booking.at(now))
        assert held.over(booking.at(now)) == max(booking.at(2), soon)
        later = interval.Interval(soon, booking.at(9))
        assert held.is_in_the_way(later, booking.at(now)) == (now < 2)
