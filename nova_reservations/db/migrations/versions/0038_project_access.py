# SPDX-License-Identifier: Apache-2.0
"""Reservations that are shared with other projects

Revision ID: 0038
Revises: 0037
"""

from alembic import op
import sqlalchemy as sa

revision = '0038'
down_revision = '0037'
branch_labels = None
depends_on = None

INDEX = 'ix_nr_project_access_project'


def upgrade() -> None:
    op.create_table(
        'nr_project_access',
        sa.Column('reservation_id', sa.String(36), nullable=False),
        sa.Column('project_id', sa.String(255), nullable=False),
        sa.Column('lease_id', sa.String(36), nullable=False),
        sa.Column('created_at', sa.DateTime(), nullable=False),
        sa.Column('updated_at', sa.DateTime()),
        sa.Column('removed_at', sa.DateTime()),
        sa.PrimaryKeyConstraint(
            'reservation_id', 'project_id', name=op.f('pk_nr_project_access')
        ),
        sa.ForeignKeyConstraint(
            ['reservation_id'],
            ['nr_reservations.id'],
            name=op.f('fk_nr_project_access_reservation_id_nr_reservations'),
        ),
        if_not_exists=True,
        mysql_engine='InnoDB',
        mysql_charset='utf8mb4',
        mysql_collate='utf8mb4_bin',
    )
    # MySQL keeps what a run has done that was stopped half-way.
    inspector = sa.inspect(op.get_bind())
    there = {
        index['name'] for index in inspector.get_indexes('nr_project_access')
    }
    if INDEX not in there:
        op.create_index(
            op.f(INDEX),
            'nr_project_access',
            ['project_id', 'removed_at', 'lease_id', 'reservation_id'],
        )
