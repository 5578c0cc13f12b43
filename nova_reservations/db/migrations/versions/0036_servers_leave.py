# SPDX-License-Identifier: Apache-2.0
"""Servers are moved off hosts that are drained

Revision ID: 0036
Revises: 0034
"""

from typing import Any

from alembic import op
import sqlalchemy as sa

revision = '0036'
down_revision = '0034'
branch_labels = None
depends_on = None


def upgrade() -> None:
    # MySQL keeps what a run has done that was stopped half-way.
    _add('nr_resources', sa.Column('emptied_at', sa.DateTime()))
    _add('nr_allocations', sa.Column('stays_because', sa.Text()))


def _add(table: str, column: sa.Column[Any]) -> None:
    known = sa.inspect(op.get_bind()).get_columns(table)
    if column.name not in {each['name'] for each in known}:
        op.add_column(table, column)
