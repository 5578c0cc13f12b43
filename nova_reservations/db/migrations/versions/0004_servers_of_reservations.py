# SPDX-License-Identifier: Apache-2.0
"""Servers that were created in reservations of slots

Revision ID: 0004
Revises: 0003
"""

from alembic import op
import sqlalchemy as sa

revision = '0004'
down_revision = '0003'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        'nr_servers',
        sa.Column('server_uuid', sa.String(length=36), nullable=False),
        sa.Column('reservation_id', sa.String(length=36), nullable=False),
        sa.Column('created_at', sa.DateTime(), nullable=False),
        sa.Column('updated_at', sa.DateTime(), nullable=True),
        sa.ForeignKeyConstraint(
            ['reservation_id'],
            ['nr_reservations.id'],
            name=op.f('fk_nr_servers_reservation_id'),
        ),
        sa.PrimaryKeyConstraint('server_uuid', name=op.f('pk_nr_servers')),
        mysql_engine='InnoDB',
        mysql_charset='utf8mb4',
        mysql_collate='utf8mb4_bin',
    )
    op.create_index(
        op.f('ix_nr_servers_reservation_id'), 'nr_servers', ['reservation_id']
    )
