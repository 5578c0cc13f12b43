# SPDX-License-Identifier: Apache-2.0
"""Servers that may come to what an active lease gives back

Revision ID: 0045
Revises: 0044
"""

from alembic import op
import sqlalchemy as sa

revision = '0045'
down_revision = '0044'
branch_labels = None
depends_on = None


def upgrade() -> None:
    # MySQL keeps what a run has done that was stopped half-way.
    columns = sa.inspect(op.get_bind()).get_columns('nr_allocations')
    if 'awaited' not in {column['name'] for column in columns}:
        op.add_column('nr_allocations', sa.Column('awaited', sa.JSON()))
