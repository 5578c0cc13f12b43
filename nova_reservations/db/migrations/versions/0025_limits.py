# SPDX-License-Identifier: Apache-2.0
"""Leases of a project are counted

Revision ID: 0025
Revises: 0024
"""

from alembic import op
import sqlalchemy as sa

revision = '0025'
down_revision = '0024'
branch_labels = None
depends_on = None

OPTIONS = {
    'mysql_engine': 'InnoDB',
    'mysql_charset': 'utf8mb4',
    'mysql_collate': 'utf8mb4_bin',
}

_INDEX = 'ix_nr_leases_counted'
_COLUMNS = ['project_id', 'by_default', 'status', 'end_date', 'id']


def upgrade() -> None:
    # MySQL keeps what a run has done that was stopped half-way.
    inspector = sa.inspect(op.get_bind())
    op.create_table(
        'nr_projects',
        sa.Column('project_id', sa.String(255), nullable=False),
        sa.Column('generation', sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint('project_id', name=op.f('pk_nr_projects')),
        if_not_exists=True,
        **OPTIONS,
    )
    columns = {item['name'] for item in inspector.get_columns('nr_leases')}
    if 'by_default' not in columns:
        op.add_column(
            'nr_leases',
            sa.Column(
                'by_default', sa.Boolean(), nullable=False, server_default='0'
            ),
        )
    there = {item['name'] for item in inspector.get_indexes('nr_leases')}
    if _INDEX not in there:
        op.create_index(op.f(_INDEX), 'nr_leases', _COLUMNS)
