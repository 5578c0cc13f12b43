# SPDX-License-Identifier: Apache-2.0
"""Inventories of the providers below those of hosts

Revision ID: 0037
Revises: 0036
"""

from alembic import op
import sqlalchemy as sa

revision = '0037'
down_revision = '0036'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        'nr_nested_inventories',
        sa.Column('resource_id', sa.Integer(), nullable=False),
        sa.Column('provider', sa.String(36), nullable=False),
        sa.Column('resource_class', sa.String(255), nullable=False),
        sa.Column('total', sa.Integer(), nullable=False),
        sa.Column('reserved', sa.Integer(), nullable=False),
        sa.Column('min_unit', sa.Integer(), nullable=False),
        sa.Column('max_unit', sa.Integer(), nullable=False),
        sa.Column('step_size', sa.Integer(), nullable=False),
        sa.Column('allocation_ratio', sa.Double(), nullable=False),
        sa.Column('traits', sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ['resource_id'],
            ['nr_hosts.resource_id'],
            name=op.f('fk_nr_nested_inventories_resource_id'),
        ),
        sa.PrimaryKeyConstraint(
            'resource_id',
            'resource_class',
            'provider',
            name=op.f('pk_nr_nested_inventories'),
        ),
        if_not_exists=True,
        mysql_engine='InnoDB',
        mysql_charset='utf8mb4',
        mysql_collate='utf8mb4_bin',
    )
    # MySQL keeps what a run has done that was stopped half-way.
    inspector = sa.inspect(op.get_bind())
    columns = inspector.get_columns('nr_hosts')
    if 'tree' not in {column['name'] for column in columns}:
        op.add_column(
            'nr_hosts',
            sa.Column(
                'tree', sa.String(64), nullable=False, server_default=''
            ),
        )
