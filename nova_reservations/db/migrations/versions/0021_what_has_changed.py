# SPDX-License-Identifier: Apache-2.0
"""Leases that have changed since a time are read by an index

Revision ID: 0021
Revises: 0019
"""

from alembic import op
import sqlalchemy as sa

revision = '0021'
down_revision = '0019'
branch_labels = None
depends_on = None

_NAME = 'ix_nr_leases_updated'


def upgrade() -> None:
    # MySQL keeps what a run has done that was stopped half-way.
    inspector = sa.inspect(op.get_bind())
    there = {index['name'] for index in inspector.get_indexes('nr_leases')}
    if _NAME not in there:
        op.create_index(
            op.f(_NAME), 'nr_leases', ['updated_at', 'project_id', 'id']
        )
