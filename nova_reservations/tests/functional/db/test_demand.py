# SPDX-License-Identifier: Apache-2.0
import datetime

import pytest

from nova_reservations import exception
from nova_reservations.db import migration
from nova_reservations.db.record import refused_leases
from nova_reservations.objects import refusal as refusals
from nova_reservations.tests import booking

HOUR = datetime.timedelta(hours=1)


def asked(count, at=booking.NOW, start=booking.NOW):
    return refusals.Refusal(
        'ours',
        at,
        start,
        start + HOUR,
        'physical:host',
        (
            refusals.RefusedReservation(
                'physical:host', {'min': count, 'max': count}
            ),
        ),
    )


def insert(database, *refused):
    for refusal in refused:
        with database.writer() as session:
            refused_leases.insert(session, refusal)


def test_the_same_ask_of_a_day_is_one_row(any_database):
    migration.sync(any_database)
    insert(any_database, asked(1), asked(2))
    with pytest.raises(exception.Conflict):
        insert(any_database, asked(1, start=booking.at(5)))
    tomorrow = booking.NOW + 24 * HOUR
    insert(any_database, asked(1, at=tomorrow))
    with any_database.reader() as session:
        of_today = refused_leases.digests(
            session, 'ours', booking.NOW.date(), 50
        )
        one, two, three = refused_leases.find(session, refusals.RefusalQuery())
    assert of_today == {asked(1).digest, asked(2).digest}
    assert (one.parts, two.parts) == (asked(1).parts, asked(2).parts)
    assert (three.start, three.asked_at) == (booking.NOW, tomorrow)
    with any_database.writer() as session:
        assert refused_leases.remove(session, tomorrow, 1) == 1
    with any_database.writer() as session:
        assert refused_leases.remove(session, tomorrow, 9) == 1
    with any_database.reader() as session:
        [left] = refused_leases.find(session, refusals.RefusalQuery())
    assert left == three
