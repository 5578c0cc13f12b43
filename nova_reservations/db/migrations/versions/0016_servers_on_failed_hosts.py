# SPDX-License-Identifier: Apache-2.0
"""Servers with a lease of their own whose hosts fail

Revision ID: 0016
Revises: 0015
"""

import datetime

from alembic import op
import sqlalchemy as sa

revision = '0016'
down_revision = '0015'
branch_labels = None
depends_on = None

TABLE = 'nr_leased_servers'
TASK = 'server_failures'


def upgrade() -> None:
    # MySQL commits each statement: what a run that died has left is kept.
    inspector = sa.inspect(op.get_bind())
    known = {column['name'] for column in inspector.get_columns(TABLE)}
    for column in (
        sa.Column('down_since', sa.DateTime()),
        sa.Column('failed', sa.Boolean(), nullable=False, server_default='0'),
        sa.Column('braked_at', sa.DateTime()),
    ):
        if column.name not in known:
            op.add_column(TABLE, column)
    index = op.f('ix_nr_leased_servers_down_since')
    if index not in {each['name'] for each in inspector.get_indexes(TABLE)}:
        op.create_index(index, TABLE, ['down_since'])
    tasks = sa.table(
        'nr_tasks', sa.column('name'), sa.column('due_at', sa.DateTime())
    )
    op.execute(sa.delete(tasks).where(tasks.c.name == TASK))
    op.bulk_insert(
        tasks, [{'name': TASK, 'due_at': datetime.datetime(2000, 1, 1)}]
    )
