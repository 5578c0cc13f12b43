# SPDX-License-Identifier: Apache-2.0
"""Hosts that have had many leases are found by what they hold, not by what
all hosts hold.

MariaDB guesses what a host holds from what hosts have had.
"""

from collections.abc import Callable
from collections.abc import Iterator

import pytest
import sqlalchemy as sa
from sqlalchemy import orm

from nova_reservations import objects
from nova_reservations.db import api
from nova_reservations.db import candidates
from nova_reservations.db import models
from nova_reservations.db import shares
from nova_reservations.objects import demand
from nova_reservations.objects import search
from nova_reservations.tests import booking
from nova_reservations.tests.functional.db import plans
from nova_reservations.tests.functional.db import test_indexes

HOSTS = 20

ENDED = 300
"""Leases that each host has had."""

PROMISED = 4
"""Leases that each host is to have."""

NOW = booking.at(ENDED)
WINDOW = booking.window(ENDED + 2, ENDED + 3)
TERMS = search.Search(NOW, start_at=0, ignore=['another'])


def find_candidates(session: orm.Session) -> None:
    wanted = search.Wanted('one', booking.wanted(2), WINDOW)
    candidates.find(session, wanted, TERMS, page=4)


def find_shares(session: orm.Session) -> None:
    share = demand.Share(objects.HOST, 1, {'VCPU': 1, 'MEMORY_MB': 512})
    wanted = search.Wanted('one', share, WINDOW)
    list(shares.pages(session, wanted, TERMS))


def find_not_taken(session: orm.Session) -> None:
    candidates.not_taken(session, objects.HOST, None, WINDOW, NOW)


BY_HOST: dict[str, Callable[[orm.Session], None]] = {
    'candidates': find_candidates,
    'shares': find_shares,
    'whatever is not taken': find_not_taken,
}


def fill(session: orm.Session) -> None:
    """Give all hosts to each of the leases, one after the other."""
    enrolled = [
        booking.enrol(session, f'host-{number}', spread=number)
        for number in range(HOSTS)
    ]
    for number in range(ENDED + PROMISED):
        reservation_id = booking.reservation(session, number, number + 1)
        session.execute(
            sa.insert(models.Allocation),
            [
                {
                    'reservation_id': reservation_id,
                    'resource_id': host_id,
                    'start_date': booking.at(number),
                    'end_date': booking.at(number + 1),
                    'exclusive': True,
                    'released': number < ENDED,
                }
                for host_id in enrolled
            ],
        )


@pytest.fixture(scope='module')
def filled(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[api.Database]:
    directory = tmp_path_factory.mktemp('history')
    with test_indexes.filled_database('mysql', directory, fill) as database:
        yield database


@pytest.mark.parametrize('query', BY_HOST)
def test_a_host_is_looked_at_by_what_it_holds(filled, query):
    plan = plans.of(filled, BY_HOST[query])
    assert {
        row.key
        for row in plan
        if row.select_type == 'DEPENDENT SUBQUERY'
        and row.table.startswith('nr_allocations')
    } == {'ix_nr_allocations_resource'}, plan
