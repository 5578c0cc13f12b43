# SPDX-License-Identifier: Apache-2.0
"""Leases of a series

Revision ID: 0026
Revises: 0025
"""

from alembic import op
import sqlalchemy as sa

revision = '0026'
down_revision = '0025'
branch_labels = None
depends_on = None


def upgrade() -> None:
    # MySQL keeps what a run has done that was stopped half-way.
    inspector = sa.inspect(op.get_bind())
    columns = {column['name'] for column in inspector.get_columns('nr_leases')}
    if 'series_id' not in columns:
        op.add_column('nr_leases', sa.Column('series_id', sa.String(36)))
    indexes = {index['name'] for index in inspector.get_indexes('nr_leases')}
    if 'ix_nr_leases_series' not in indexes:
        op.create_index(
            op.f('ix_nr_leases_series'), 'nr_leases', ['series_id']
        )
