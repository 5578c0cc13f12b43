# SPDX-License-Identifier: Apache-2.0
"""The guard against double booking: compare-and-set of generations."""

import pytest
import sqlalchemy as sa

from nova_reservations import exception
from nova_reservations.db import models
from nova_reservations.db.holdings import allocations
from nova_reservations.tests import booking


def enrol(database, name='one', **options):
    with database.writer() as session:
        return booking.enrol(session, name, **options)


def generation(database, host):
    with database.reader() as session:
        return session.scalar(
            sa.select(models.Resource.generation).where(
                models.Resource.id == host
            )
        )


def advance(database, generations):
    with database.writer() as session:
        allocations.advance(session, generations)


def test_of_two_bookings_by_one_look_the_second_fails(any_database):
    host = enrol(any_database)
    seen = generation(any_database, host)
    advance(any_database, {host: seen})
    assert generation(any_database, host) == seen + 1
    with pytest.raises(exception.Conflict):
        advance(any_database, {host: seen})
    advance(any_database, {host: seen + 1})


def test_generations_all_advance_or_none_does(any_database):
    first, second = (enrol(any_database, name) for name in ('one', 'two'))
    seen = {host: generation(any_database, host) for host in (first, second)}
    advance(any_database, {second: seen[second]})
    with pytest.raises(exception.Conflict):
        advance(any_database, seen)
    assert generation(any_database, first) == seen[first]


def test_a_host_that_nobody_can_lease_is_not_booked(any_database):
    host = enrol(any_database, reservable=False)
    with pytest.raises(exception.Conflict):
        advance(any_database, {host: generation(any_database, host)})
