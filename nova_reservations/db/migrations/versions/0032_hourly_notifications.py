# SPDX-License-Identifier: Apache-2.0
"""Hourly notifications of active leases, and purges

Revision ID: 0032
Revises: 0031
"""

import datetime

from alembic import op
import sqlalchemy as sa

revision = '0032'
down_revision = '0031'
branch_labels = None
depends_on = None

BEFORE_ALL = datetime.datetime(2000, 1, 1)


def upgrade() -> None:
    op.create_table(
        'nr_exists',
        sa.Column('id', sa.Integer(), autoincrement=False, nullable=False),
        sa.Column('hour', sa.DateTime(), nullable=False),
        sa.Column('created_at', sa.DateTime()),
        sa.Column('lease_id', sa.String(36)),
        sa.Column('version', sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint('id', name=op.f('pk_nr_exists')),
        if_not_exists=True,
        mysql_engine='InnoDB',
        mysql_charset='utf8mb4',
        mysql_collate='utf8mb4_bin',
    )
    progress = sa.table(
        'nr_exists',
        sa.column('id'),
        sa.column('hour', sa.DateTime()),
        sa.column('version'),
    )
    # MySQL keeps what a run has done that was stopped half-way.
    op.execute(sa.delete(progress))
    op.bulk_insert(progress, [{'id': 1, 'hour': BEFORE_ALL, 'version': 0}])
    tasks = sa.table(
        'nr_tasks', sa.column('name'), sa.column('due_at', sa.DateTime())
    )
    names = ('exists', 'purge')
    op.execute(sa.delete(tasks).where(tasks.c.name.in_(names)))
    op.bulk_insert(
        tasks, [{'name': name, 'due_at': BEFORE_ALL} for name in names]
    )
