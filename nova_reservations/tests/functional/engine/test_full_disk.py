# SPDX-License-Identifier: Apache-2.0
"""SQLite on a disk that is full, and that has room again later."""

import pytest
import sqlalchemy as sa

from nova_reservations import exception


@pytest.fixture
def fill(region):
    """Keeps the database from growing, or lets it grow again."""
    room = [2**30]

    @sa.event.listens_for(region.database.engine(), 'checkout')
    def limit(connection, *_):
        connection.execute(f'PRAGMA max_page_count = {room[0]}')

    def fill(full):
        room[0] = 1 if full else 2**30

    return fill


def test_a_lease_that_does_not_fit_leaves_nothing(region, fill):
    fill(True)
    made = 0
    with pytest.raises(exception.DatabaseUnavailable, match='full'):
        while made < 1000:
            region.lease(start=100 * made, end=100 * made + 1)
            made += 1
    picture = region.picture()
    assert len(picture['leases']) == len(picture['held']) == made
    fill(False)
    region.lease(start=100 * made, end=100 * made + 1)
    assert len(region.picture()['leases']) == made + 1
