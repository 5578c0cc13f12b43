# SPDX-License-Identifier: Apache-2.0
"""A transaction that adds to what a project holds first writes the row of the
project, so as to wait for other transactions of the project."""

import contextlib
import re

import pytest
import sqlalchemy as sa

from nova_reservations.tests.functional.engine import test_limits
from nova_reservations.tests.functional.engine import test_series

GAINS = re.compile('INSERT INTO nr_leases|(INSERT INTO|UPDATE) nr_allocations')
"""Statements of transactions that can raise what a project holds."""


@contextlib.contextmanager
def transactions(region):
    """Yield the statements of each transaction."""
    found, current = [], {}

    def note(connection, _, statement, *more):
        if statement.startswith('BEGIN'):
            current[connection] = []
            found.append(current[connection])
        else:
            current.setdefault(connection, []).append(statement)

    engine = region.database.engine()
    sa.event.listen(engine, 'before_cursor_execute', note)
    yield found
    sa.event.remove(engine, 'before_cursor_execute', note)


def check_that_others_are_waited_for(found):
    """Check that each transaction that adds writes the row of the project
    first."""
    began_with = [
        statements[0]
        for statements in found
        if any(map(GAINS.match, statements))
    ]
    assert began_with
    for statement in began_with:
        assert statement.startswith('UPDATE nr_projects ')


def create(region):
    return region.lease


def prolong(region):
    lease = region.lease()
    return lambda: region.change(lease, end=90)


def enlarge(region):
    lease = region.lease()
    return lambda: region.change(lease, min=2, max=2)


def repeat(region):
    return lambda: test_series.create(region, 60, 120)


def begin_to_wait(region):
    region.lease(minimum=4, project='other')
    return region.retry


def have_waited(region):
    other = region.lease(minimum=4, project='other')
    region.retry()
    region.delete(other)
    return region.work


@pytest.mark.parametrize(
    'gain', [create, prolong, enlarge, repeat, begin_to_wait, have_waited]
)
def test_whatever_adds_waits_for_others_before_all_else(make_region, gain):
    """On MariaDB, sums are of the moment of the transaction's first read."""
    region = make_region('one', 'two', 'three', 'four')
    test_limits.limit(region, hosts=4)
    act = gain(region)
    with transactions(region) as found:
        act()
    check_that_others_are_waited_for(found)
