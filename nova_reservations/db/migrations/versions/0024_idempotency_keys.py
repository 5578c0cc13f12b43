# SPDX-License-Identifier: Apache-2.0
"""Requests to create a lease that may be repeated

Revision ID: 0024
Revises: 0023
"""

import datetime

from alembic import op
import sqlalchemy as sa

revision = '0024'
down_revision = '0023'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        'nr_idempotency_keys',
        sa.Column('digest', sa.String(64), nullable=False),
        sa.Column('project_id', sa.String(255), nullable=False),
        sa.Column('body', sa.String(64), nullable=False),
        sa.Column('lease_id', sa.String(36), nullable=False),
        sa.Column('created_at', sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint('digest', name=op.f('pk_nr_idempotency_keys')),
        if_not_exists=True,
        mysql_engine='InnoDB',
        mysql_charset='utf8mb4',
        mysql_collate='utf8mb4_bin',
    )
    # MySQL keeps what a run has done that was stopped half-way.
    there = {
        index['name']
        for index in sa.inspect(op.get_bind()).get_indexes(
            'nr_idempotency_keys'
        )
    }
    for column in ('project_id', 'created_at'):
        name = f'ix_nr_idempotency_keys_{column}'
        if name not in there:
            op.create_index(op.f(name), 'nr_idempotency_keys', [column])
    tasks = sa.table(
        'nr_tasks', sa.column('name'), sa.column('due_at', sa.DateTime())
    )
    op.execute(sa.delete(tasks).where(tasks.c.name == 'forget'))
    op.bulk_insert(
        tasks, [{'name': 'forget', 'due_at': datetime.datetime(2000, 1, 1)}]
    )
