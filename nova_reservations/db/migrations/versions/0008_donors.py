# SPDX-License-Identifier: Apache-2.0
"""Hosts that are emptied for best effort leases

Revision ID: 0008
Revises: 0007
"""

import datetime

from alembic import op
import sqlalchemy as sa

revision = '0008'
down_revision = '0007'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column('nr_resources', sa.Column('fenced_for', sa.String(36)))
    op.add_column('nr_resources', sa.Column('fenced_at', sa.DateTime()))
    op.create_index(
        op.f('ix_nr_resources_role'),
        'nr_resources',
        ['role', 'resource_type', 'id'],
    )
    op.create_index(
        op.f('ix_nr_resources_fenced_for'), 'nr_resources', ['fenced_for']
    )
    op.create_table(
        'nr_unfit_donors',
        sa.Column('lease_id', sa.String(36), nullable=False),
        sa.Column('resource_id', sa.Integer(), nullable=False),
        sa.Column('reason', sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint(
            'lease_id', 'resource_id', name=op.f('pk_nr_unfit_donors')
        ),
        sa.ForeignKeyConstraint(
            ['lease_id'],
            ['nr_leases.id'],
            name=op.f('fk_nr_unfit_donors_lease_id'),
        ),
        sa.ForeignKeyConstraint(
            ['resource_id'],
            ['nr_resources.id'],
            name=op.f('fk_nr_unfit_donors_resource_id'),
        ),
        mysql_engine='InnoDB',
        mysql_charset='utf8mb4',
        mysql_collate='utf8mb4_bin',
    )
    op.create_index(
        op.f('ix_nr_unfit_donors_resource_id'),
        'nr_unfit_donors',
        ['resource_id'],
    )
    tasks = sa.table(
        'nr_tasks', sa.column('name'), sa.column('due_at', sa.DateTime())
    )
    op.bulk_insert(
        tasks, [{'name': 'donors', 'due_at': datetime.datetime(2000, 1, 1)}]
    )
