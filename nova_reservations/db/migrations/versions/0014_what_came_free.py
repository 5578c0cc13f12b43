# SPDX-License-Identifier: Apache-2.0
"""Resources that came free, for leases that wait

Revision ID: 0014
Revises: 0013
"""

import datetime

from alembic import op
import sqlalchemy as sa

revision = '0014'
down_revision = '0013'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        'nr_freed',
        sa.Column('id', sa.Integer(), nullable=False),
        sa.Column('resource_id', sa.Integer()),
        sa.Column('arrival', sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint('id', name=op.f('pk_nr_freed')),
        if_not_exists=True,
        mysql_engine='InnoDB',
        mysql_charset='utf8mb4',
        mysql_collate='utf8mb4_bin',
    )
    tasks = sa.table(
        'nr_tasks', sa.column('name'), sa.column('due_at', sa.DateTime())
    )
    op.execute(sa.delete(tasks).where(tasks.c.name == 'queue'))
    op.bulk_insert(
        tasks, [{'name': 'queue', 'due_at': datetime.datetime(2000, 1, 1)}]
    )
