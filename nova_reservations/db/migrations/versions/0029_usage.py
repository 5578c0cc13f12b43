# SPDX-License-Identifier: Apache-2.0
"""The record of what leases and servers had, and deleted leases

Revision ID: 0029
Revises: 0028
"""

from typing import Any

from alembic import op
import sqlalchemy as sa

revision = '0029'
down_revision = '0028'
branch_labels = None
depends_on = None

OPTIONS = {
    'mysql_engine': 'InnoDB',
    'mysql_charset': 'utf8mb4',
    'mysql_collate': 'utf8mb4_bin',
}

INDEXES = {
    'nr_usage': {
        'ix_nr_usage_project': ['project_id', 'ended_at', 'id'],
        'ix_nr_usage_ended': ['ended_at', 'id'],
        'ix_nr_usage_reservation': ['reservation_id', 'ended_at'],
    },
    'nr_server_usage': {
        'ix_nr_server_usage_project': ['project_id', 'ended_at', 'id'],
        'ix_nr_server_usage_ended': ['ended_at', 'id'],
        'ix_nr_server_usage_reservation': ['reservation_id', 'ended_at'],
        'ix_nr_server_usage_server': ['server_uuid', 'ended_at'],
    },
    'nr_deleted_leases': {
        'ix_nr_deleted_leases_listed': ['created_at', 'id'],
        'ix_nr_deleted_leases_project': ['project_id', 'created_at', 'id'],
        'ix_nr_deleted_leases_deleted': ['deleted_at', 'id'],
    },
}


def upgrade() -> None:
    op.create_table(
        'nr_usage',
        sa.Column('id', sa.Integer(), nullable=False),
        *_of_a_lease(),
        sa.Column('lease_name', sa.String(255), nullable=False),
        sa.Column('lease_type', sa.String(16), nullable=False),
        sa.Column('resource_type', sa.String(64), nullable=False),
        sa.Column('resource_class', sa.String(255), nullable=False),
        sa.Column('amount', sa.BigInteger(), nullable=False),
        sa.Column('degraded', sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint('id', name=op.f('pk_nr_usage')),
        if_not_exists=True,
        **OPTIONS,
    )
    op.create_table(
        'nr_server_usage',
        sa.Column('id', sa.Integer(), nullable=False),
        *_of_a_lease(),
        sa.Column('server_uuid', sa.String(36), nullable=False),
        sa.Column('flavor', sa.String(255), nullable=False),
        sa.Column('vcpus', sa.Integer(), nullable=False),
        sa.Column('memory_mb', sa.Integer(), nullable=False),
        sa.Column('disk_gb', sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint('id', name=op.f('pk_nr_server_usage')),
        if_not_exists=True,
        **OPTIONS,
    )
    op.create_table(
        'nr_deleted_leases',
        sa.Column('id', sa.String(36), nullable=False),
        sa.Column('name', sa.String(255), nullable=False),
        sa.Column('project_id', sa.String(255), nullable=False),
        sa.Column('status', sa.String(16), nullable=False),
        sa.Column('start_date', sa.DateTime(), nullable=False),
        sa.Column('end_date', sa.DateTime(), nullable=False),
        sa.Column('created_at', sa.DateTime(), nullable=False),
        sa.Column('deleted_at', sa.DateTime(), nullable=False),
        sa.Column('document', sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint('id', name=op.f('pk_nr_deleted_leases')),
        if_not_exists=True,
        **OPTIONS,
    )
    # MySQL keeps what a run has done that was stopped half-way.
    inspector = sa.inspect(op.get_bind())
    for table, indexes in INDEXES.items():
        there = {index['name'] for index in inspector.get_indexes(table)}
        for name, columns in indexes.items():
            if name not in there:
                op.create_index(op.f(name), table, columns)


def _of_a_lease() -> list[sa.Column[Any]]:
    return [
        sa.Column('lease_id', sa.String(36), nullable=False),
        sa.Column('reservation_id', sa.String(36), nullable=False),
        sa.Column('project_id', sa.String(255), nullable=False),
        sa.Column('user_id', sa.String(255), nullable=False),
        sa.Column('started_at', sa.DateTime(), nullable=False),
        sa.Column('ended_at', sa.DateTime()),
    ]
