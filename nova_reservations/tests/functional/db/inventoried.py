# SPDX-License-Identifier: Apache-2.0
"""Inventories of many hosts, as rows."""

from collections.abc import Iterable
from collections.abc import Iterator
import dataclasses
from typing import Any

from nova_reservations import objects
from nova_reservations.db import inventories
from nova_reservations.db import resources
from nova_reservations.testing import fake_cloud
from nova_reservations.tests.functional.db import listed

OFTEN = {
    'the next resources of a type': listed.Often(
        lambda session: resources.ids(session, objects.HOST, 500, 100),
        frozenset({'ix_nr_resources_role'}),
    ),
}


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
