# SPDX-License-Identifier: Apache-2.0
"""Reservations that are part of another one of their lease

Revision ID: 0042
Revises: 0041
"""

from alembic import op
import sqlalchemy as sa

revision = '0042'
down_revision = '0041'
branch_labels = None
depends_on = None

TABLE = 'nr_reservations'


def upgrade() -> None:
    # MySQL keeps what a run has done that was stopped half-way.
    there = {
        column['name']
        for column in sa.inspect(op.get_bind()).get_columns(TABLE)
    }
    for name, length in ('part_of', 36), ('part_name', 64):
        if name not in there:
            op.add_column(TABLE, sa.Column(name, sa.String(length)))
