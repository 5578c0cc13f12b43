# SPDX-License-Identifier: Apache-2.0
"""A new table that refers to leases or reservations is given back and removed
with them."""

import pytest

from nova_reservations.db import models
from nova_reservations.db.leases import belongings


def referring_to(name):
    return {
        table.name
        for table in models.Base.metadata.sorted_tables
        for key in table.foreign_keys
        if key.column.table.name == name
    }


def test_all_tables_that_refer_to_reservations_are_belongings():
    known = [kind.table.name for kind in belongings.OF_RESERVATIONS]
    assert sorted(known) == sorted(referring_to('nr_reservations'))


def test_all_tables_that_refer_to_leases_are_belongings():
    known = [table.name for table in belongings.OF_LEASES]
    assert sorted(known) == sorted(referring_to('nr_leases'))


@pytest.mark.parametrize(
    'table', [kind.table for kind in belongings.OF_RESERVATIONS]
)
def test_only_amounts_refer_to_a_belonging(table):
    """``belongings._remove()`` knows no others."""
    others = referring_to(table.name)
    assert others == (
        {'nr_allocation_amounts'} if table.name == 'nr_allocations' else set()
    )
