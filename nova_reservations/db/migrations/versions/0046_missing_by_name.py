# SPDX-License-Identifier: Apache-2.0
"""Resources that were asked for by name and can't be used

Revision ID: 0046
Revises: 0045
"""

from alembic import op
import sqlalchemy as sa

revision = '0046'
down_revision = '0045'
branch_labels = None
depends_on = None


def upgrade() -> None:
    # MySQL keeps what a run has done that was stopped half-way.
    columns = sa.inspect(op.get_bind()).get_columns('nr_reservations')
    if 'missing_reason' not in {column['name'] for column in columns}:
        op.add_column('nr_reservations', sa.Column('missing_reason', sa.Text))
