# SPDX-License-Identifier: Apache-2.0
"""Of a lease that is deleted before it begins only ids are kept, for a while

Revision ID: 0048
Revises: 0047
"""

from alembic import op
import sqlalchemy as sa

revision = '0048'
down_revision = '0047'
branch_labels = None
depends_on = None

TABLE = 'nr_deleted_reservations'
INDEX = 'ix_nr_deleted_reservations_deleted'


def upgrade() -> None:
    # MySQL keeps what a run has done that was stopped half-way.
    inspector = sa.inspect(op.get_bind())
    if 'deleted_at' not in {
        column['name'] for column in inspector.get_columns(TABLE)
    }:
        op.add_column(TABLE, sa.Column('deleted_at', sa.DateTime()))
    if INDEX not in {each['name'] for each in inspector.get_indexes(TABLE)}:
        op.create_index(op.f(INDEX), TABLE, ['deleted_at', 'id'])
