# SPDX-License-Identifier: Apache-2.0
"""The holds of other leases are read by index, and up to a limit."""

import pytest
import sqlalchemy as sa

from nova_reservations import objects
from nova_reservations.db import models
from nova_reservations.db.holdings import candidates
from nova_reservations.db.holdings import openings
from nova_reservations.db.resources import inventories
from nova_reservations.objects import demand
from nova_reservations.objects import search
from nova_reservations.tests import booking
from nova_reservations.tests.functional.db import listed
from nova_reservations.tests.functional.db import plans
from nova_reservations.tests.functional.db import test_indexes

SHARE = demand.Share(objects.HOST, 1, {'VCPU': 1, 'MEMORY_MB': 512})


def could_have(asked):
    wanted = search.Wanted(
        listed.lease_id(1),
        asked,
        booking.window(102, 103),
        held={1: 1, 2: 1},
    )
    return lambda session: candidates.could_have(session, wanted, 20)


def held(session):
    openings.held(
        session, range(1, 40), booking.at(102), test_indexes.TERMS, 100
    )
    inventories.find(session, range(1, 40), SHARE.amounts)


@pytest.mark.parametrize(
    'run',
    [
        could_have(booking.wanted(2)),
        could_have(SHARE),
        held,
    ],
    ids=['whole resources', 'slots', 'what others hold'],
)
def test_no_table_is_read_as_a_whole(filled, run):
    plan = plans.of(filled, run)
    backend = filled.engine().dialect.name
    assert plan
    assert not [
        row for row in plan if plans.reads_a_whole_table(backend, row)
    ], '\n'.join(map(str, plan))


def spans(known):
    return [
        (each.resource_id, (each.start - booking.NOW).total_seconds() / 3600)
        for each in known.held
    ]


def test_no_more_is_read_than_the_limit_says_and_that_is_told(any_database):
    with any_database.writer() as session:
        one, two, three = [booking.enrol(session, name) for name in 'abc']
        for host, start in ((one, 5), (two, 2), (one, 9), (three, 1)):
            booking.book(session, host, start, start + 1)
        booking.book(session, one, 1, 2)
        booking.book(session, one, 7, 8, released=True)
    terms = search.Search(booking.NOW)

    def read(start, limit):
        with any_database.reader() as session:
            return openings.held(
                session, [one, two], booking.at(start), terms, limit
            )

    everything = read(0, 9)
    assert spans(everything) == [(one, 1), (two, 2), (one, 5), (one, 9)]
    assert everything.until is None
    some = read(3, 1)
    assert spans(some) == [(one, 5)]
    assert some.until == booking.at(5)


def test_a_lease_that_is_over_but_not_left_is_in_the_way_of_now(
    any_database,
):
    with any_database.writer() as session:
        host = booking.enrol(session, 'a')
        reservation_id = booking.book(session, host, 1, 2)
    terms = search.Search(booking.at(3))

    def read(start):
        with any_database.reader() as session:
            return spans(
                openings.held(session, [host], booking.at(start), terms)
            )

    assert read(3) == [(host, 1)]
    assert read(4) == []
    with any_database.writer() as session:
        session.execute(
            sa.update(models.Allocation)
            .where(models.Allocation.reservation_id == reservation_id)
            .values(replaced_at=booking.at(2))
        )
    assert read(4) == [(host, 1)]
