# SPDX-License-Identifier: Apache-2.0
"""Hosts that are being closed, and the servers that they wait for

Revision ID: 0010
Revises: 0009
"""

import datetime

from alembic import op
import sqlalchemy as sa

revision = '0010'
down_revision = '0009'
branch_labels = None
depends_on = None

OPTIONS = {
    'mysql_engine': 'InnoDB',
    'mysql_charset': 'utf8mb4',
    'mysql_collate': 'utf8mb4_bin',
}


def upgrade() -> None:
    op.create_table(
        'nr_closings',
        sa.Column(
            'resource_id', sa.Integer(), nullable=False, autoincrement=False
        ),
        sa.Column('attempt', sa.String(36), nullable=False),
        sa.Column('listed_at', sa.DateTime()),
        sa.Column('reason', sa.Text()),
        sa.PrimaryKeyConstraint('resource_id', name=op.f('pk_nr_closings')),
        sa.ForeignKeyConstraint(
            ['resource_id'],
            ['nr_resources.id'],
            name=op.f('fk_nr_closings_resource_id'),
        ),
        if_not_exists=True,
        **OPTIONS,
    )
    op.create_table(
        'nr_awaited_servers',
        sa.Column('resource_id', sa.Integer(), nullable=False),
        sa.Column('server_id', sa.String(36), nullable=False),
        sa.PrimaryKeyConstraint(
            'resource_id', 'server_id', name=op.f('pk_nr_awaited_servers')
        ),
        sa.ForeignKeyConstraint(
            ['resource_id'],
            ['nr_resources.id'],
            name=op.f('fk_nr_awaited_servers_resource_id'),
        ),
        if_not_exists=True,
        **OPTIONS,
    )
    tasks = sa.table(
        'nr_tasks', sa.column('name'), sa.column('due_at', sa.DateTime())
    )
    op.execute(sa.delete(tasks).where(tasks.c.name == 'enrolments'))
    op.bulk_insert(
        tasks,
        [{'name': 'enrolments', 'due_at': datetime.datetime(2000, 1, 1)}],
    )
