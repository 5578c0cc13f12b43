# SPDX-License-Identifier: Apache-2.0
"""Reservations that servers use by themselves, and who was sent there

Revision ID: 0006
Revises: 0005
"""

from alembic import op
import sqlalchemy as sa

revision = '0006'
down_revision = '0005'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        'nr_reservations', sa.Column('open_to', sa.String(length=255))
    )
    op.create_index(
        op.f('ix_nr_reservations_open'),
        'nr_reservations',
        ['open_to', 'status'],
    )
    op.add_column(
        'nr_servers',
        sa.Column(
            'chosen',
            sa.Boolean(),
            nullable=False,
            server_default='0',
        ),
    )
