# SPDX-License-Identifier: Apache-2.0
"""Replaced allocations, and the times of monitoring and healing

Revision ID: 0005
Revises: 0004
"""

import datetime

from alembic import op
import sqlalchemy as sa

revision = '0005'
down_revision = '0004'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column('nr_allocations', sa.Column('given_at', sa.DateTime()))
    op.add_column('nr_allocations', sa.Column('replaced_at', sa.DateTime()))
    op.create_index(
        op.f('ix_nr_leases_degraded'), 'nr_leases', ['degraded', 'id']
    )
    op.create_index(
        op.f('ix_nr_allocations_replaced'),
        'nr_allocations',
        ['released', 'replaced_at'],
    )
    tasks = sa.table(
        'nr_tasks', sa.column('name'), sa.column('due_at', sa.DateTime())
    )
    op.bulk_insert(
        tasks,
        [
            {'name': name, 'due_at': datetime.datetime(2000, 1, 1)}
            for name in ('monitor', 'heal')
        ],
    )
