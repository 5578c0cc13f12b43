# SPDX-License-Identifier: Apache-2.0
"""Leases that were refused for lack of room

Revision ID: 0027
Revises: 0026
"""

from alembic import op
import sqlalchemy as sa

revision = '0027'
down_revision = '0026'
branch_labels = None
depends_on = None

INDEXES = {
    'ix_nr_refusals_asked_at': ['asked_at', 'id'],
    'ix_nr_refusals_project': ['project_id', 'asked_at', 'id'],
}


def upgrade() -> None:
    op.create_table(
        'nr_refusals',
        sa.Column('id', sa.Integer(), nullable=False),
        sa.Column('project_id', sa.String(255), nullable=False),
        sa.Column('day', sa.Date(), nullable=False),
        sa.Column('digest', sa.String(64), nullable=False),
        sa.Column('asked_at', sa.DateTime(), nullable=False),
        sa.Column('start_date', sa.DateTime(), nullable=False),
        sa.Column('end_date', sa.DateTime(), nullable=False),
        sa.Column('kind', sa.String(255), nullable=False),
        sa.Column('reservations', sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint('id', name=op.f('pk_nr_refusals')),
        sa.UniqueConstraint(
            'project_id',
            'day',
            'digest',
            name=op.f('uq_nr_refusals_project_id_day_digest'),
        ),
        if_not_exists=True,
        mysql_engine='InnoDB',
        mysql_charset='utf8mb4',
        mysql_collate='utf8mb4_bin',
    )
    # MySQL keeps what a run has done that was stopped half-way.
    there = {
        index['name']
        for index in sa.inspect(op.get_bind()).get_indexes('nr_refusals')
    }
    for name, columns in INDEXES.items():
        if name not in there:
            op.create_index(op.f(name), 'nr_refusals', columns)
