# SPDX-License-Identifier: Apache-2.0
"""Conditions of queries for resources that nothing holds.

They are built from the table of reasons in ``objects/holds.py``, so that
plans, counts, lists and healing apply the same reasons.
"""

from typing import Any

import sqlalchemy as sa

from nova_reservations.db import models
from nova_reservations.objects import holds as table

RESOURCE = models.table(models.Resource)

Use = table.Use


def free(use: Use) -> sa.ColumnElement[bool]:
    """Return the condition that no reason forbids this use of a resource.

    One comparison for each column, as the indexes have them.
    """
    return sa.and_(
        *(
            condition
            for column, clear in table.COLUMNS.items()
            if (condition := _is_free(column, clear, use)) is not None
        )
    )


def _is_free(
    column: str, clear: object, use: Use
) -> sa.ColumnElement[bool] | None:
    reasons = [reason for reason in table.REASONS if reason.column == column]
    if not any(use in reason.forbids for reason in reasons):
        return None
    conditions = [_equals(column, clear)]
    for position, reason in enumerate(reasons):
        if use not in reason.forbids:
            conditions.append(_applies(reason, reasons[:position]))
    return sa.or_(*conditions)


def _applies(
    reason: table.Reason, before: list[table.Reason]
) -> sa.ColumnElement[bool]:
    """Return the condition that this reason holds a resource whose column is
    not clear, and none before it in the table."""
    return sa.and_(
        *(sa.not_(_own(earlier)) for earlier in before), _own(reason)
    )


def _own(reason: table.Reason) -> sa.ColumnElement[bool]:
    conditions: list[sa.ColumnElement[bool]] = []
    if reason.value is not None:
        conditions.append(_equals(reason.column, reason.value))
    if reason.while_set is not None:
        conditions.append(RESOURCE.c[reason.while_set].is_not(None))
    if reason.role is not None:
        conditions.append(RESOURCE.c.role == reason.role)
    return sa.and_(sa.true(), *conditions)


def _equals(column: str, value: Any) -> sa.ColumnElement[bool]:
    if value is None:
        return RESOURCE.c[column].is_(None)
    return RESOURCE.c[column] == (sa.true() if value is True else value)
