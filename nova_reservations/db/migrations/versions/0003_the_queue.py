# SPDX-License-Identifier: Apache-2.0
"""The order of leases that wait

Revision ID: 0003
Revises: 0002
"""

from alembic import op
import sqlalchemy as sa

revision = '0003'
down_revision = '0002'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        'nr_leases', sa.Column('arrival', sa.Integer(), nullable=True)
    )
    op.create_index(
        'ix_nr_leases_status',
        'nr_leases',
        ['status', 'created_at', 'id'],
        unique=False,
    )
    counters = sa.table('nr_counters', sa.column('name'), sa.column('value'))
    op.bulk_insert(counters, [{'name': 'arrival', 'value': 0}])
