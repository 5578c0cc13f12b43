# SPDX-License-Identifier: Apache-2.0
"""Inventories of many hosts, as rows."""

from collections.abc import Iterable
from collections.abc import Iterator
import dataclasses
from typing import Any

from sqlalchemy import orm

from nova_reservations import objects
from nova_reservations.db import models
from nova_reservations.db.holdings import candidates
from nova_reservations.db.resources import host_facts
from nova_reservations.db.resources import inventories
from nova_reservations.db.resources import resources
from nova_reservations.objects import search
from nova_reservations.testing import fake_cloud
from nova_reservations.tests import booking
from nova_reservations.tests.functional.db import listed

_JUDGED = (
    '["and", ["==", "$cpu_info:topology:cores", "8"], ["or", '
    '["==", "$aggregate_instance_extra_specs:0", "true"], '
    '["==", "$aggregate_instance_extra_specs:1", "true"]]]'
)


def _judged(session: orm.Session) -> None:
    wanted = search.Wanted(
        '', booking.wanted(2, asked=_JUDGED), booking.window(102, 103)
    )
    terms = search.Search(booking.NOW, start_at=500)
    candidates.find(session, wanted, terms, page=20)


OFTEN = {
    'candidates that meet what nova judges': listed.Often(
        # The facts of a host are found by the primary key.
        _judged,
        frozenset({'ix_nr_resources_spread'}),
    ),
    'the next resources of a type': listed.Often(
        lambda session: resources.ids(session, 'other', 500, 100),
        frozenset({'ix_nr_resources_role'}),
    ),
    'the values that nova judges': listed.Often(
        lambda session: host_facts.values(session, 'cpu_info', 100),
        frozenset({'uq_nr_facts_name_digest', 'ix_nr_host_facts_fact_id'}),
    ),
    'the facts of hosts': listed.Often(
        # It uses the primary keys, which databases name differently.
        lambda session: host_facts.of(session, range(1, 20))
    ),
}

_NAMES = (
    'cpu_info',
    *(f'aggregate_instance_extra_specs:{number}' for number in range(400)),
)
_VALUES = 20


def rows(hosts: Iterable[int]) -> Iterator[dict[str, Any]]:
    """Yield rows of inventories of hosts."""
    known = fake_cloud.facts('host').inventories
    # With so many rows, a scan of the table is a bad plan.
    more = [
        dataclasses.replace(known[0], resource_class=f'CUSTOM_{number}')
        for number in range(9)
    ]
    for number in hosts:
        for inventory in (*known, *more):
            yield inventories.row(number, inventory)


def nested_rows(hosts: Iterable[int]) -> Iterator[dict[str, Any]]:
    """Yield rows of inventories of the providers below hosts."""
    known = objects.Inventory('VGPU', 4, 0, 1, 4, 1, 1.0)
    for number in hosts:
        for below in range(9):
            yield inventories.nested_row(
                number,
                dataclasses.replace(
                    known,
                    resource_class='VGPU' if below else 'CUSTOM_PCI_8086_1572',
                    provider=str(below),
                    traits=frozenset({'CUSTOM_A'}),
                ),
            )


def more(
    hosts: Iterable[int],
) -> Iterator[tuple[type[models.Base], Iterator[dict[str, Any]]]]:
    """Yield models with their rows."""
    yield models.NestedInventory, nested_rows(hosts)
    yield models.Fact, facts()
    yield models.HostFact, facts_of(hosts)


def facts() -> Iterator[dict[str, Any]]:
    """Yield rows of values, some of each of many facts."""
    for number in range(_VALUES * len(_NAMES)):
        yield {
            'id': number + 1,
            'name': _NAMES[number // _VALUES],
            'digest': str(number),
            'value': 'true'
            if number >= _VALUES
            else '{"topology": {"cores": 8}}',
        }


def facts_of(hosts: Iterable[int]) -> Iterator[dict[str, Any]]:
    """Yield rows of facts of hosts."""
    for number in hosts:
        for name in range(9):
            yield {
                'resource_id': number,
                'fact_id': 1 + name * _VALUES + number % _VALUES,
            }
