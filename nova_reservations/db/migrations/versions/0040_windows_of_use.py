# SPDX-License-Identifier: Apache-2.0
"""The record of a window is read by an index that has its starts, too

Revision ID: 0040
Revises: 0039
"""

from alembic import op
import sqlalchemy as sa

revision = '0040'
down_revision = '0039'
branch_labels = None
depends_on = None


def upgrade() -> None:
    # MySQL keeps what a run has done that was stopped half-way.
    inspector = sa.inspect(op.get_bind())
    for table in ('nr_usage', 'nr_server_usage'):
        there = {index['name'] for index in inspector.get_indexes(table)}
        window, project = f'ix_{table}_window', f'ix_{table}_project'
        if window not in there:
            op.create_index(
                op.f(window),
                table,
                ['project_id', 'ended_at', 'started_at', 'id'],
            )
        if project in there:
            op.drop_index(project, table_name=table)
