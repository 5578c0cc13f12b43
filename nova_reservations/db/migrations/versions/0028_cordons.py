# SPDX-License-Identifier: Apache-2.0
"""Operators keep new leases off resources

Revision ID: 0028
Revises: 0027
"""

from alembic import op
import sqlalchemy as sa

revision = '0028'
down_revision = '0027'
branch_labels = None
depends_on = None


def upgrade() -> None:
    # MySQL keeps what a run has done that was stopped half-way.
    inspector = sa.inspect(op.get_bind())
    columns = inspector.get_columns('nr_resources')
    if 'cordoned_at' not in {column['name'] for column in columns}:
        op.add_column('nr_resources', sa.Column('cordoned_at', sa.DateTime()))
