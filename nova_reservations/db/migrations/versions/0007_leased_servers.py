# SPDX-License-Identifier: Apache-2.0
"""Servers that carry their own lease

Revision ID: 0007
Revises: 0006
"""

import datetime

from alembic import op
import sqlalchemy as sa

revision = '0007'
down_revision = '0006'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        'nr_leased_servers',
        sa.Column('server_uuid', sa.String(length=36), nullable=False),
        sa.Column('reservation_id', sa.String(length=36), nullable=False),
        sa.Column('position', sa.Integer(), nullable=False),
        sa.Column('released_at', sa.DateTime(), nullable=True),
        sa.Column('created_at', sa.DateTime(), nullable=False),
        sa.Column('updated_at', sa.DateTime(), nullable=True),
        sa.ForeignKeyConstraint(
            ['reservation_id'],
            ['nr_reservations.id'],
            name=op.f('fk_nr_leased_servers_reservation_id'),
        ),
        sa.PrimaryKeyConstraint(
            'server_uuid', name=op.f('pk_nr_leased_servers')
        ),
        sa.UniqueConstraint(
            'reservation_id',
            'position',
            name=op.f('uq_nr_leased_servers_reservation_id_position'),
        ),
        mysql_engine='InnoDB',
        mysql_charset='utf8mb4',
        mysql_collate='utf8mb4_bin',
    )
    op.create_index(
        op.f('ix_nr_leased_servers_watch'),
        'nr_leased_servers',
        ['released_at', 'server_uuid'],
    )
    tasks = sa.table(
        'nr_tasks', sa.column('name'), sa.column('due_at', sa.DateTime())
    )
    op.bulk_insert(
        tasks,
        [
            {
                'name': 'leased_servers',
                'due_at': datetime.datetime(2000, 1, 1),
            }
        ],
    )
