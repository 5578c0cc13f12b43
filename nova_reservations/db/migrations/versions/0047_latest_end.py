# SPDX-License-Identifier: Apache-2.0
"""The latest end that a lease has had

Revision ID: 0047
Revises: 0046
"""

from alembic import op
import sqlalchemy as sa

revision = '0047'
down_revision = '0046'
branch_labels = None
depends_on = None


def upgrade() -> None:
    # MySQL keeps what a run has done that was stopped half-way.
    columns = sa.inspect(op.get_bind()).get_columns('nr_leases')
    if 'latest_end' not in {column['name'] for column in columns}:
        op.add_column('nr_leases', sa.Column('latest_end', sa.DateTime()))
