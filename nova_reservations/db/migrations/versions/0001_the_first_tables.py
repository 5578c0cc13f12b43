# SPDX-License-Identifier: Apache-2.0
"""The first tables

Revision ID: 0001
Revises: None
"""

import datetime
from typing import Any

from alembic import op
import sqlalchemy as sa

revision = '0001'
down_revision = None
branch_labels = None
depends_on = None

MYSQL: dict[str, Any] = {
    'mysql_engine': 'InnoDB',
    'mysql_charset': 'utf8mb4',
    'mysql_collate': 'utf8mb4_bin',
}


def upgrade() -> None:
    op.create_table(
        'nr_counters',
        sa.Column('name', sa.String(length=64), nullable=False),
        sa.Column('value', sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint('name', name=op.f('pk_nr_counters')),
        **MYSQL,
    )
    op.create_table(
        'nr_leases',
        sa.Column('id', sa.String(length=36), nullable=False),
        sa.Column('name', sa.String(length=255), nullable=False),
        sa.Column('project_id', sa.String(length=255), nullable=False),
        sa.Column('user_id', sa.String(length=255), nullable=False),
        sa.Column('start_date', sa.DateTime(), nullable=False),
        sa.Column('end_date', sa.DateTime(), nullable=False),
        sa.Column('status', sa.String(length=16), nullable=False),
        sa.Column('status_reason', sa.Text(), nullable=True),
        sa.Column('degraded', sa.Boolean(), nullable=False),
        sa.Column('in_nova', sa.Boolean(), nullable=False),
        sa.Column('prepared', sa.Boolean(), nullable=False),
        sa.Column('version', sa.Integer(), nullable=False),
        sa.Column('attempt', sa.Integer(), nullable=False),
        sa.Column('claimed_by', sa.String(length=255), nullable=True),
        sa.Column('due_at', sa.DateTime(), nullable=True),
        sa.Column('created_at', sa.DateTime(), nullable=False),
        sa.Column('updated_at', sa.DateTime(), nullable=True),
        sa.CheckConstraint(
            "status IN ('PENDING', 'STARTING', 'ACTIVE', 'TERMINATING', "
            "'TERMINATED', 'DELETING', 'ERROR')",
            name=op.f('ck_nr_leases_status'),
        ),
        sa.PrimaryKeyConstraint('id', name=op.f('pk_nr_leases')),
        **MYSQL,
    )
    op.create_index(
        'ix_nr_leases_created', 'nr_leases', ['created_at', 'id'], unique=False
    )
    op.create_index(
        'ix_nr_leases_due', 'nr_leases', ['due_at', 'id'], unique=False
    )
    op.create_index(
        op.f('ix_nr_leases_name'), 'nr_leases', ['name'], unique=False
    )
    op.create_index(
        'ix_nr_leases_project',
        'nr_leases',
        ['project_id', 'created_at', 'id'],
        unique=False,
    )
    op.create_table(
        'nr_properties',
        sa.Column('id', sa.Integer(), nullable=False),
        sa.Column('name', sa.String(length=64), nullable=False),
        sa.Column('private', sa.Boolean(), nullable=False),
        sa.Column('created_at', sa.DateTime(), nullable=False),
        sa.Column('updated_at', sa.DateTime(), nullable=True),
        sa.PrimaryKeyConstraint('id', name=op.f('pk_nr_properties')),
        sa.UniqueConstraint('name', name=op.f('uq_nr_properties_name')),
        **MYSQL,
    )
    op.create_table(
        'nr_resources',
        sa.Column('id', sa.Integer(), nullable=False),
        sa.Column('resource_type', sa.String(length=64), nullable=False),
        sa.Column('name', sa.String(length=255), nullable=False),
        sa.Column('uuid', sa.String(length=36), nullable=False),
        sa.Column('reservable', sa.Boolean(), nullable=False),
        sa.Column('generation', sa.Integer(), nullable=False),
        sa.Column('spread', sa.Integer(), nullable=False),
        sa.Column('created_at', sa.DateTime(), nullable=False),
        sa.Column('updated_at', sa.DateTime(), nullable=True),
        sa.PrimaryKeyConstraint('id', name=op.f('pk_nr_resources')),
        sa.UniqueConstraint(
            'resource_type',
            'uuid',
            name=op.f('uq_nr_resources_resource_type_uuid'),
        ),
        **MYSQL,
    )
    op.create_index(
        op.f('ix_nr_resources_name'), 'nr_resources', ['name'], unique=False
    )
    op.create_index(
        'ix_nr_resources_spread',
        'nr_resources',
        ['resource_type', 'reservable', 'spread', 'id'],
        unique=False,
    )
    op.create_table(
        'nr_tasks',
        sa.Column('name', sa.String(length=64), nullable=False),
        sa.Column('due_at', sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint('name', name=op.f('pk_nr_tasks')),
        **MYSQL,
    )
    op.create_table(
        'nr_events',
        sa.Column('id', sa.String(length=36), nullable=False),
        sa.Column('lease_id', sa.String(length=36), nullable=False),
        sa.Column('event_type', sa.String(length=32), nullable=False),
        sa.Column('time', sa.DateTime(), nullable=False),
        sa.Column('status', sa.String(length=16), nullable=False),
        sa.Column('created_at', sa.DateTime(), nullable=False),
        sa.Column('updated_at', sa.DateTime(), nullable=True),
        sa.CheckConstraint(
            "event_type IN ('start_lease', 'before_end_lease', 'end_lease')",
            name=op.f('ck_nr_events_event_type'),
        ),
        sa.CheckConstraint(
            "status IN ('UNDONE', 'IN_PROGRESS', 'DONE', 'ERROR')",
            name=op.f('ck_nr_events_status'),
        ),
        sa.ForeignKeyConstraint(
            ['lease_id'], ['nr_leases.id'], name=op.f('fk_nr_events_lease_id')
        ),
        sa.PrimaryKeyConstraint('id', name=op.f('pk_nr_events')),
        sa.UniqueConstraint(
            'lease_id',
            'event_type',
            name=op.f('uq_nr_events_lease_id_event_type'),
        ),
        **MYSQL,
    )
    op.create_table(
        'nr_hosts',
        sa.Column(
            'resource_id', sa.Integer(), autoincrement=False, nullable=False
        ),
        sa.Column(
            'hypervisor_hostname', sa.String(length=255), nullable=False
        ),
        sa.Column('vcpus', sa.Integer(), nullable=False),
        sa.Column('memory_mb', sa.Integer(), nullable=False),
        sa.Column('local_gb', sa.Integer(), nullable=False),
        sa.Column('free_memory_mb', sa.Integer(), nullable=False),
        sa.Column('free_disk_gb', sa.Integer(), nullable=False),
        sa.Column('cpu_info', sa.Text(), nullable=False),
        sa.Column('hypervisor_type', sa.String(length=255), nullable=False),
        sa.Column('hypervisor_version', sa.Integer(), nullable=False),
        sa.Column('availability_zone', sa.String(length=255), nullable=False),
        sa.Column('provider_generation', sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ['resource_id'],
            ['nr_resources.id'],
            name=op.f('fk_nr_hosts_resource_id'),
        ),
        sa.PrimaryKeyConstraint('resource_id', name=op.f('pk_nr_hosts')),
        **MYSQL,
    )
    op.create_index(
        op.f('ix_nr_hosts_hypervisor_hostname'),
        'nr_hosts',
        ['hypervisor_hostname'],
        unique=False,
    )
    op.create_table(
        'nr_reservations',
        sa.Column('id', sa.String(length=36), nullable=False),
        sa.Column('lease_id', sa.String(length=36), nullable=False),
        sa.Column('position', sa.Integer(), nullable=False),
        sa.Column('resource_type', sa.String(length=64), nullable=False),
        sa.Column('status', sa.String(length=16), nullable=False),
        sa.Column('params', sa.JSON(), nullable=False),
        sa.Column('missing_resources', sa.Boolean(), nullable=False),
        sa.Column('resources_changed', sa.Boolean(), nullable=False),
        sa.Column('created_at', sa.DateTime(), nullable=False),
        sa.Column('updated_at', sa.DateTime(), nullable=True),
        sa.CheckConstraint(
            "status IN ('pending', 'active', 'deleted', 'error')",
            name=op.f('ck_nr_reservations_status'),
        ),
        sa.ForeignKeyConstraint(
            ['lease_id'],
            ['nr_leases.id'],
            name=op.f('fk_nr_reservations_lease_id'),
        ),
        sa.PrimaryKeyConstraint('id', name=op.f('pk_nr_reservations')),
        **MYSQL,
    )
    op.create_index(
        op.f('ix_nr_reservations_lease_id'),
        'nr_reservations',
        ['lease_id'],
        unique=False,
    )
    op.create_table(
        'nr_allocations',
        sa.Column('id', sa.Integer(), nullable=False),
        sa.Column('reservation_id', sa.String(length=36), nullable=False),
        sa.Column('resource_id', sa.Integer(), nullable=False),
        sa.Column('start_date', sa.DateTime(), nullable=False),
        sa.Column('end_date', sa.DateTime(), nullable=False),
        sa.Column('exclusive', sa.Boolean(), nullable=False),
        sa.Column('released', sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(
            ['reservation_id'],
            ['nr_reservations.id'],
            name=op.f('fk_nr_allocations_reservation_id'),
        ),
        sa.ForeignKeyConstraint(
            ['resource_id'],
            ['nr_resources.id'],
            name=op.f('fk_nr_allocations_resource_id'),
        ),
        sa.PrimaryKeyConstraint('id', name=op.f('pk_nr_allocations')),
        sa.UniqueConstraint(
            'reservation_id',
            'resource_id',
            name=op.f('uq_nr_allocations_reservation_id_resource_id'),
        ),
        **MYSQL,
    )
    op.create_index(
        'ix_nr_allocations_end',
        'nr_allocations',
        ['released', 'end_date', 'resource_id'],
        unique=False,
    )
    op.create_index(
        'ix_nr_allocations_resource',
        'nr_allocations',
        ['resource_id', 'released', 'end_date', 'start_date'],
        unique=False,
    )
    op.create_index(
        'ix_nr_allocations_start',
        'nr_allocations',
        ['released', 'start_date', 'resource_id'],
        unique=False,
    )
    op.create_table(
        'nr_host_inventories',
        sa.Column('resource_id', sa.Integer(), nullable=False),
        sa.Column('resource_class', sa.String(length=255), nullable=False),
        sa.Column('total', sa.Integer(), nullable=False),
        sa.Column('reserved', sa.Integer(), nullable=False),
        sa.Column('min_unit', sa.Integer(), nullable=False),
        sa.Column('max_unit', sa.Integer(), nullable=False),
        sa.Column('step_size', sa.Integer(), nullable=False),
        sa.Column('allocation_ratio', sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(
            ['resource_id'],
            ['nr_hosts.resource_id'],
            name=op.f('fk_nr_host_inventories_resource_id'),
        ),
        sa.PrimaryKeyConstraint(
            'resource_id',
            'resource_class',
            name=op.f('pk_nr_host_inventories'),
        ),
        **MYSQL,
    )
    op.create_table(
        'nr_host_properties',
        sa.Column('resource_id', sa.Integer(), nullable=False),
        sa.Column('property_id', sa.Integer(), nullable=False),
        sa.Column('value', sa.Text(), nullable=False),
        sa.Column('number', sa.Double(), nullable=True),
        sa.ForeignKeyConstraint(
            ['property_id'],
            ['nr_properties.id'],
            name=op.f('fk_nr_host_properties_property_id'),
        ),
        sa.ForeignKeyConstraint(
            ['resource_id'],
            ['nr_hosts.resource_id'],
            name=op.f('fk_nr_host_properties_resource_id'),
        ),
        sa.PrimaryKeyConstraint(
            'resource_id', 'property_id', name=op.f('pk_nr_host_properties')
        ),
        **MYSQL,
    )
    op.create_index(
        op.f('ix_nr_host_properties_property_id'),
        'nr_host_properties',
        ['property_id'],
        unique=False,
    )
    op.create_table(
        'nr_host_traits',
        sa.Column('resource_id', sa.Integer(), nullable=False),
        sa.Column('trait', sa.String(length=255), nullable=False),
        sa.ForeignKeyConstraint(
            ['resource_id'],
            ['nr_hosts.resource_id'],
            name=op.f('fk_nr_host_traits_resource_id'),
        ),
        sa.PrimaryKeyConstraint(
            'resource_id', 'trait', name=op.f('pk_nr_host_traits')
        ),
        **MYSQL,
    )
    op.create_table(
        'nr_allocation_amounts',
        sa.Column('allocation_id', sa.Integer(), nullable=False),
        sa.Column('resource_class', sa.String(length=255), nullable=False),
        sa.Column('amount', sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ['allocation_id'],
            ['nr_allocations.id'],
            name=op.f('fk_nr_allocation_amounts_allocation_id'),
        ),
        sa.PrimaryKeyConstraint(
            'allocation_id',
            'resource_class',
            name=op.f('pk_nr_allocation_amounts'),
        ),
        **MYSQL,
    )

    counters = sa.table('nr_counters', sa.column('name'), sa.column('value'))
    op.bulk_insert(
        counters,
        [{'name': 'pool', 'value': 0}, {'name': 'booking', 'value': 0}],
    )
    tasks = sa.table(
        'nr_tasks', sa.column('name'), sa.column('due_at', sa.DateTime())
    )
    op.bulk_insert(
        tasks, [{'name': 'refresh', 'due_at': datetime.datetime(2000, 1, 1)}]
    )
