# SPDX-License-Identifier: Apache-2.0
"""Claims on periodic tasks, which are renewed

Revision ID: 0015
Revises: 0014
"""

from alembic import op
import sqlalchemy as sa

revision = '0015'
down_revision = '0014'
branch_labels = None
depends_on = None


def upgrade() -> None:
    # MySQL commits each statement: what a run that died has left is kept.
    known = {
        column['name']
        for column in sa.inspect(op.get_bind()).get_columns('nr_tasks')
    }
    for column in (
        sa.Column('attempt', sa.Integer(), nullable=False, server_default='0'),
        sa.Column('claimed_until', sa.DateTime()),
    ):
        if column.name not in known:
            op.add_column('nr_tasks', column)
