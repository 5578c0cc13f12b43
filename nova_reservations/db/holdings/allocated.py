# SPDX-License-Identifier: Apache-2.0
"""Subqueries for what leases hold of each resource that a query reads."""

from typing import Any

import sqlalchemy as sa

from nova_reservations.db import models

_INDEX = 'ix_nr_allocations_resource'


def select(
    held: Any, column: Any, *conditions: sa.ColumnElement[bool]
) -> sa.Select[Any]:
    """Return a subquery for the unreleased allocations of the resource in the
    current row of the enclosing query.

    :param held: an alias of the allocations.
    """
    query: sa.Select[Any] = (
        sa.select(column)
        .where(
            held.resource_id == models.Resource.id,
            held.released == sa.false(),
            *conditions,
        )
        .correlate(models.Resource)
    )
    return by_resource(query, held)


def by_resource(query: sa.Select[Any], held: Any) -> sa.Select[Any]:
    """Return the query, which reads allocations by their resources."""
    # A resource may have thousands of past allocations, and has few present
    # ones. MariaDB knows only the mean of both. Without the hint it would read
    # the present allocations of all resources, once for each resource. A
    # migration that drops this index would break workers of the release
    # before.
    for dialect in ('mysql', 'mariadb'):
        query = query.with_hint(held, f'FORCE INDEX ({_INDEX})', dialect)
    return query


def none(
    held: Any, *conditions: sa.ColumnElement[bool]
) -> sa.ColumnElement[bool]:
    """Return the condition that there is no such allocation."""
    # The offset of 0 keeps optimizers from joining all allocations with all
    # resources where only a page of resources is wanted.
    query = select(held, sa.literal_column('1'), *conditions)
    return ~query.limit(1).offset(0).exists()
