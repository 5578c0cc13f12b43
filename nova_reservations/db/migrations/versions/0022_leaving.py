# SPDX-License-Identifier: Apache-2.0
"""Resources that an active lease gives back

Revision ID: 0022
Revises: 0021
"""

from alembic import op
import sqlalchemy as sa

revision = '0022'
down_revision = '0021'
branch_labels = None
depends_on = None


def upgrade() -> None:
    # MySQL keeps what a run has done that was stopped half-way.
    inspector = sa.inspect(op.get_bind())
    columns = inspector.get_columns('nr_allocations')
    if 'leaving_at' not in {column['name'] for column in columns}:
        op.add_column('nr_allocations', sa.Column('leaving_at', sa.DateTime()))
