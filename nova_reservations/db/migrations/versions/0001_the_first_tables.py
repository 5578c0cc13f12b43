# SPDX-License-Identifier: Apache-2.0
"""The tables of 1.0.0

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

OPTIONS: dict[str, Any] = {
    'mysql_engine': 'InnoDB',
    'mysql_charset': 'utf8mb4',
    'mysql_collate': 'utf8mb4_bin',
}

_SORTED = sa.String(255).with_variant(
    sa.String(255, collation='C'), 'postgresql'
)

COUNTERS = (
    'arrival',
    'booking',
    'claims_taken_over',
    'pool',
    'refused_no_room',
    'refused_over_limit',
)

TASKS = (
    'deleted_servers',
    'drainable_hosts',
    'enrolments',
    'forget',
    'heal',
    'lease_exists',
    'monitor',
    'purge',
    'queue',
    'refresh',
    'server_failures',
)

BEFORE_ALL = datetime.datetime(2000, 1, 1)


def upgrade() -> None:
    _create_tables()
    counters = sa.table(
        'nr_counters', sa.column('name'), sa.column('value', sa.Integer())
    )
    op.bulk_insert(counters, [{'name': name, 'value': 0} for name in COUNTERS])
    tasks = sa.table(
        'nr_tasks', sa.column('name'), sa.column('due_at', sa.DateTime())
    )
    op.bulk_insert(
        tasks, [{'name': name, 'due_at': BEFORE_ALL} for name in TASKS]
    )
    exists = sa.table(
        'nr_lease_exists',
        sa.column('id'),
        sa.column('hour', sa.DateTime()),
        sa.column('version'),
    )
    op.bulk_insert(exists, [{'id': 1, 'hour': BEFORE_ALL, 'version': 0}])


def _create_tables() -> None:
    _create(
        'nr_resources',
        sa.Column('id', sa.Integer, primary_key=True),
        sa.Column('resource_type', sa.String(64), nullable=False),
        sa.Column('name', sa.String(255), nullable=False, index=True),
        sa.Column('uuid', sa.String(36), nullable=False),
        sa.Column('reservable', sa.Boolean, nullable=False),
        sa.Column('generation', sa.Integer, nullable=False),
        sa.Column('spread', sa.Integer, nullable=False),
        sa.Column(
            'role', sa.String(16), nullable=False, server_default='pool'
        ),
        sa.Column('down_since', sa.DateTime),
        sa.Column('fenced_for', sa.String(36), index=True),
        sa.Column('fenced_at', sa.DateTime),
        sa.Column('hold', sa.String(16)),
        sa.Column('held_since', sa.DateTime),
        sa.Column(
            'forced_down', sa.Boolean, nullable=False, server_default='0'
        ),
        sa.Column('braked_at', sa.DateTime),
        sa.Column('brake_off', sa.Boolean, nullable=False, server_default='0'),
        sa.Column('cordoned_at', sa.DateTime),
        sa.Column('emptied_at', sa.DateTime),
        sa.Column('lost', sa.Text),
        sa.Column('created_at', sa.DateTime, nullable=False),
        sa.Column('updated_at', sa.DateTime),
        sa.UniqueConstraint('resource_type', 'uuid'),
        sa.CheckConstraint("role IN ('pool', 'drainable')", name='role'),
        sa.Index('ix_nr_resources_role', 'role', 'resource_type', 'id'),
        sa.Index(
            'ix_nr_resources_spread',
            'resource_type',
            'reservable',
            'spread',
            'id',
        ),
        sa.Index(
            'uq_nr_resources_resource_type_name',
            'resource_type',
            'name',
            unique=True,
        ),
    )
    _create(
        'nr_hosts',
        _reference(
            'resource_id', sa.Integer, 'nr_resources.id', primary_key=True
        ),
        sa.Column(
            'hypervisor_hostname', sa.String(255), nullable=False, index=True
        ),
        sa.Column('vcpus', sa.Integer, nullable=False),
        sa.Column('memory_mb', sa.Integer, nullable=False),
        sa.Column('local_gb', sa.Integer, nullable=False),
        sa.Column('free_memory_mb', sa.Integer, nullable=False),
        sa.Column('free_disk_gb', sa.Integer, nullable=False),
        sa.Column('cpu_info', sa.Text, nullable=False),
        sa.Column('hypervisor_type', sa.String(255), nullable=False),
        sa.Column('hypervisor_version', sa.Integer, nullable=False),
        sa.Column('availability_zone', sa.String(255), nullable=False),
        sa.Column('provider_generation', sa.Integer, nullable=False),
        sa.Column(
            'cell', sa.String(36), nullable=False, server_default=sa.text("''")
        ),
        sa.Column(
            'tree', sa.String(64), nullable=False, server_default=sa.text("''")
        ),
        sa.Column(
            'aggregates',
            sa.String(64),
            nullable=False,
            server_default=sa.text("''"),
        ),
    )
    _create(
        'nr_host_traits',
        _reference(
            'resource_id', sa.Integer, 'nr_hosts.resource_id', primary_key=True
        ),
        sa.Column('trait', sa.String(255), primary_key=True),
    )
    _create(
        'nr_inventories',
        _reference(
            'resource_id', sa.Integer, 'nr_resources.id', primary_key=True
        ),
        sa.Column('resource_class', sa.String(255), primary_key=True),
        sa.Column('total', sa.Integer, nullable=False),
        sa.Column('reserved', sa.Integer, nullable=False),
        sa.Column('min_unit', sa.Integer, nullable=False),
        sa.Column('max_unit', sa.Integer, nullable=False),
        sa.Column('step_size', sa.Integer, nullable=False),
        sa.Column('allocation_ratio', sa.Double, nullable=False),
    )
    _create(
        'nr_nested_inventories',
        _reference(
            'resource_id', sa.Integer, 'nr_hosts.resource_id', primary_key=True
        ),
        sa.Column('resource_class', sa.String(255), primary_key=True),
        sa.Column('provider', sa.String(36), primary_key=True),
        sa.Column('total', sa.Integer, nullable=False),
        sa.Column('reserved', sa.Integer, nullable=False),
        sa.Column('min_unit', sa.Integer, nullable=False),
        sa.Column('max_unit', sa.Integer, nullable=False),
        sa.Column('step_size', sa.Integer, nullable=False),
        sa.Column('allocation_ratio', sa.Double, nullable=False),
        sa.Column('traits', sa.Text, nullable=False),
    )
    _create(
        'nr_facts',
        sa.Column('id', sa.Integer, primary_key=True),
        sa.Column('name', sa.String(300), nullable=False),
        sa.Column('digest', sa.String(64), nullable=False),
        sa.Column('value', sa.Text, nullable=False),
        sa.UniqueConstraint('name', 'digest'),
    )
    _create(
        'nr_host_facts',
        sa.Column(
            'resource_id',
            sa.Integer,
            sa.ForeignKey('nr_hosts.resource_id', ondelete='CASCADE'),
            primary_key=True,
        ),
        _reference(
            'fact_id', sa.Integer, 'nr_facts.id', primary_key=True, index=True
        ),
    )
    _create(
        'nr_properties',
        sa.Column('id', sa.Integer, primary_key=True),
        sa.Column('name', sa.String(64), nullable=False),
        sa.Column('private', sa.Boolean, nullable=False),
        sa.Column('created_at', sa.DateTime, nullable=False),
        sa.Column('updated_at', sa.DateTime),
        sa.UniqueConstraint('name'),
    )
    _create(
        'nr_resource_properties',
        _reference(
            'resource_id', sa.Integer, 'nr_resources.id', primary_key=True
        ),
        _reference(
            'property_id',
            sa.Integer,
            'nr_properties.id',
            primary_key=True,
            index=True,
        ),
        sa.Column('value', sa.Text, nullable=False),
        sa.Column('number', sa.Double),
    )
    _create(
        'nr_leases',
        sa.Column('id', sa.String(36), primary_key=True),
        sa.Column('name', _SORTED, nullable=False),
        sa.Column('project_id', sa.String(255), nullable=False),
        sa.Column('user_id', sa.String(255), nullable=False),
        sa.Column('start_date', sa.DateTime, nullable=False),
        sa.Column('end_date', sa.DateTime, nullable=False),
        sa.Column(
            'lease_type',
            sa.String(16),
            nullable=False,
            server_default='scheduled',
        ),
        sa.Column('max_retries', sa.Integer),
        sa.Column('arrival', sa.Integer),
        sa.Column('duration', sa.Integer),
        sa.Column('status', sa.String(16), nullable=False),
        sa.Column('status_reason', sa.Text),
        sa.Column('status_detail', sa.Text),
        sa.Column('degraded', sa.Boolean, nullable=False),
        sa.Column('in_nova', sa.Boolean, nullable=False),
        sa.Column(
            'by_default', sa.Boolean, nullable=False, server_default='0'
        ),
        sa.Column('prepared', sa.Boolean, nullable=False),
        sa.Column('version', sa.Integer, nullable=False),
        sa.Column('attempt', sa.Integer, nullable=False),
        sa.Column('claimed_by', sa.String(255)),
        sa.Column('due_at', sa.DateTime),
        sa.Column('series_id', sa.String(36)),
        sa.Column('used_at', sa.DateTime),
        sa.Column('unused_at', sa.DateTime),
        sa.Column('latest_end', sa.DateTime),
        sa.Column('created_at', sa.DateTime, nullable=False),
        sa.Column('updated_at', sa.DateTime),
        sa.CheckConstraint(
            "lease_type IN ('immediate', 'scheduled', 'retry', 'best_effort')",
            name='lease_type',
        ),
        sa.CheckConstraint(
            "status IN ('CREATING', 'IN_PROGRESS', 'PENDING', "
            "'STARTING', 'ACTIVE', 'TERMINATING', 'TERMINATED', "
            "'DELETING', 'TIMEDOUT', 'ERROR')",
            name='status',
        ),
        sa.Index('ix_nr_leases_degraded', 'degraded', 'id'),
        sa.Index('ix_nr_leases_due', 'due_at', 'id'),
        sa.Index('ix_nr_leases_end', 'end_date', 'id'),
        sa.Index(
            'ix_nr_leases_holding',
            'project_id',
            'by_default',
            'status',
            'in_nova',
            'id',
        ),
        sa.Index(
            'ix_nr_leases_listed',
            'created_at',
            'id',
            'end_date',
            'status',
            'in_nova',
        ),
        sa.Index(
            'ix_nr_leases_listed_project',
            'project_id',
            'created_at',
            'id',
            'end_date',
            'status',
            'in_nova',
        ),
        sa.Index('ix_nr_leases_named', 'name', 'created_at', 'id'),
        sa.Index('ix_nr_leases_project_end', 'project_id', 'end_date', 'id'),
        sa.Index(
            'ix_nr_leases_project_named',
            'project_id',
            'name',
            'created_at',
            'id',
        ),
        sa.Index(
            'ix_nr_leases_project_start', 'project_id', 'start_date', 'id'
        ),
        sa.Index(
            'ix_nr_leases_project_status',
            'project_id',
            'status',
            'created_at',
            'id',
        ),
        sa.Index('ix_nr_leases_series', 'series_id'),
        sa.Index('ix_nr_leases_start', 'start_date', 'id'),
        sa.Index('ix_nr_leases_status', 'status', 'created_at', 'id'),
        sa.Index('ix_nr_leases_updated', 'updated_at', 'project_id', 'id'),
    )
    _create(
        'nr_refusals',
        sa.Column('id', sa.Integer, primary_key=True),
        sa.Column('project_id', sa.String(255), nullable=False),
        sa.Column('day', sa.Date, nullable=False),
        sa.Column('digest', sa.String(64), nullable=False),
        sa.Column('asked_at', sa.DateTime, nullable=False),
        sa.Column('start_date', sa.DateTime, nullable=False),
        sa.Column('end_date', sa.DateTime, nullable=False),
        sa.Column('kind', sa.String(255), nullable=False),
        sa.Column('reservations', sa.JSON, nullable=False),
        sa.UniqueConstraint('project_id', 'day', 'digest'),
        sa.Index('ix_nr_refusals_asked_at', 'asked_at', 'id'),
        sa.Index('ix_nr_refusals_project', 'project_id', 'asked_at', 'id'),
    )
    _create(
        'nr_idempotency_keys',
        sa.Column('digest', sa.String(64), primary_key=True),
        sa.Column('project_id', sa.String(255), nullable=False, index=True),
        sa.Column('body', sa.String(64), nullable=False),
        sa.Column('lease_id', sa.String(36), nullable=False),
        sa.Column('created_at', sa.DateTime, nullable=False, index=True),
    )
    _create(
        'nr_reservations',
        sa.Column('id', sa.String(36), primary_key=True),
        _reference('lease_id', sa.String(36), 'nr_leases.id', index=True),
        sa.Column('position', sa.Integer, nullable=False),
        sa.Column('resource_type', sa.String(64), nullable=False),
        sa.Column('status', sa.String(16), nullable=False),
        sa.Column('params', sa.JSON, nullable=False),
        sa.Column('missing_resources', sa.Boolean, nullable=False),
        sa.Column('resources_changed', sa.Boolean, nullable=False),
        sa.Column('open_to', sa.String(255)),
        sa.Column('part_of', sa.String(36)),
        sa.Column('part_name', sa.String(64)),
        sa.Column('missing_reason', sa.Text),
        sa.Column('untold_reason', sa.Text),
        sa.Column('created_at', sa.DateTime, nullable=False),
        sa.Column('updated_at', sa.DateTime),
        sa.CheckConstraint(
            "status IN ('pending', 'active', 'deleted', 'error')",
            name='status',
        ),
        sa.Index('ix_nr_reservations_open', 'open_to', 'status'),
    )
    _create(
        'nr_events',
        sa.Column('id', sa.String(36), primary_key=True),
        _reference('lease_id', sa.String(36), 'nr_leases.id'),
        sa.Column('event_type', sa.String(32), nullable=False),
        sa.Column('time', sa.DateTime, nullable=False),
        sa.Column('status', sa.String(16), nullable=False),
        sa.Column('created_at', sa.DateTime, nullable=False),
        sa.Column('updated_at', sa.DateTime),
        sa.UniqueConstraint('lease_id', 'event_type'),
        sa.CheckConstraint(
            "event_type IN ('start_lease', 'before_end_lease', 'end_lease')",
            name='event_type',
        ),
        sa.CheckConstraint(
            "status IN ('UNDONE', 'IN_PROGRESS', 'DONE', 'ERROR')",
            name='status',
        ),
        sa.Index(
            'ix_nr_events_read',
            'lease_id',
            'event_type',
            'time',
            'status',
            'id',
            'created_at',
            'updated_at',
        ),
    )
    _create(
        'nr_allocations',
        sa.Column('id', sa.Integer, primary_key=True),
        _reference('reservation_id', sa.String(36), 'nr_reservations.id'),
        _reference('resource_id', sa.Integer, 'nr_resources.id'),
        sa.Column('start_date', sa.DateTime, nullable=False),
        sa.Column('end_date', sa.DateTime, nullable=False),
        sa.Column('exclusive', sa.Boolean, nullable=False),
        sa.Column('released', sa.Boolean, nullable=False),
        sa.Column('given_at', sa.DateTime),
        sa.Column('replaced_at', sa.DateTime),
        sa.Column('leaving_at', sa.DateTime),
        sa.Column('awaited', sa.JSON),
        sa.Column('stays_because', sa.Text),
        sa.UniqueConstraint('reservation_id', 'resource_id', 'start_date'),
        sa.Index(
            'ix_nr_allocations_end', 'released', 'end_date', 'resource_id'
        ),
        sa.Index('ix_nr_allocations_replaced', 'released', 'replaced_at'),
        sa.Index(
            'ix_nr_allocations_resource',
            'resource_id',
            'released',
            'end_date',
            'start_date',
        ),
        sa.Index(
            'ix_nr_allocations_start', 'released', 'start_date', 'resource_id'
        ),
    )
    _create(
        'nr_allocation_amounts',
        _reference(
            'allocation_id', sa.Integer, 'nr_allocations.id', primary_key=True
        ),
        sa.Column('resource_class', sa.String(255), primary_key=True),
        sa.Column('amount', sa.Integer, nullable=False),
    )
    _create(
        'nr_servers',
        sa.Column('server_uuid', sa.String(36), primary_key=True),
        _reference(
            'reservation_id', sa.String(36), 'nr_reservations.id', index=True
        ),
        sa.Column('chosen', sa.Boolean, nullable=False, server_default='0'),
        sa.Column('created_at', sa.DateTime, nullable=False),
        sa.Column('updated_at', sa.DateTime),
    )
    _create(
        'nr_project_access',
        _reference(
            'reservation_id',
            sa.String(36),
            'nr_reservations.id',
            primary_key=True,
        ),
        sa.Column('project_id', sa.String(255), primary_key=True),
        sa.Column('lease_id', sa.String(36), nullable=False),
        sa.Column('removed_at', sa.DateTime),
        sa.Column('created_at', sa.DateTime, nullable=False),
        sa.Column('updated_at', sa.DateTime),
        sa.Index(
            'ix_nr_project_access_project',
            'project_id',
            'removed_at',
            'lease_id',
            'reservation_id',
        ),
    )
    _create(
        'nr_leased_servers',
        sa.Column('server_uuid', sa.String(36), primary_key=True),
        _reference('reservation_id', sa.String(36), 'nr_reservations.id'),
        sa.Column('position', sa.Integer, nullable=False),
        sa.Column('released_at', sa.DateTime),
        sa.Column('down_since', sa.DateTime, index=True),
        sa.Column('failed', sa.Boolean, nullable=False, server_default='0'),
        sa.Column('braked_at', sa.DateTime),
        sa.Column('created_at', sa.DateTime, nullable=False),
        sa.Column('updated_at', sa.DateTime),
        sa.UniqueConstraint('reservation_id', 'position'),
        sa.Index('ix_nr_leased_servers_watch', 'released_at', 'server_uuid'),
    )
    _create(
        'nr_unfit_hosts',
        _reference(
            'lease_id', sa.String(36), 'nr_leases.id', primary_key=True
        ),
        _reference(
            'resource_id',
            sa.Integer,
            'nr_resources.id',
            primary_key=True,
            index=True,
        ),
        sa.Column('reason', sa.Text, nullable=False),
    )
    _create(
        'nr_closings',
        _reference(
            'resource_id', sa.Integer, 'nr_resources.id', primary_key=True
        ),
        sa.Column('attempt', sa.String(36), nullable=False),
        sa.Column('listed_at', sa.DateTime),
        sa.Column('reason', sa.Text),
    )
    _create(
        'nr_awaited_servers',
        _reference(
            'resource_id', sa.Integer, 'nr_resources.id', primary_key=True
        ),
        sa.Column('server_id', sa.String(36), primary_key=True),
    )
    _create(
        'nr_tasks',
        sa.Column('name', sa.String(64), primary_key=True),
        sa.Column('due_at', sa.DateTime, nullable=False),
        sa.Column('attempt', sa.Integer, nullable=False, server_default='0'),
        sa.Column('claimed_until', sa.DateTime),
    )
    _create(
        'nr_messages',
        sa.Column('id', sa.String(36), primary_key=True),
        sa.Column('lease_id', sa.String(36), nullable=False),
        sa.Column('reservation_id', sa.String(36), nullable=False),
        sa.Column('action', sa.String(64), nullable=False),
        sa.Column('destination', sa.String(255), nullable=False),
        sa.Column('body', sa.Text, nullable=False),
        sa.Column('event_type', sa.String(32), nullable=False),
        sa.Column('event_time', sa.DateTime, nullable=False),
        sa.Column('end_date', sa.DateTime, nullable=False),
        sa.Column('chosen', sa.String(64)),
        sa.Column('due_at', sa.DateTime, nullable=False),
        sa.Column('attempt', sa.Integer, nullable=False),
        sa.Column('reason', sa.Text),
        sa.Index(
            'ix_nr_messages_due', 'due_at', 'id', 'attempt', 'destination'
        ),
    )
    _create(
        'nr_counters',
        sa.Column('name', sa.String(64), primary_key=True),
        sa.Column('value', sa.Integer, nullable=False),
    )
    _create(
        'nr_usage',
        sa.Column('lease_name', sa.String(255), nullable=False),
        sa.Column('lease_type', sa.String(16), nullable=False),
        sa.Column('resource_type', sa.String(64), nullable=False),
        sa.Column('resource_class', sa.String(255), nullable=False),
        sa.Column('amount', sa.BigInteger, nullable=False),
        sa.Column('degraded', sa.Boolean, nullable=False),
        sa.Column('id', sa.Integer, primary_key=True),
        sa.Column('lease_id', sa.String(36), nullable=False),
        sa.Column('reservation_id', sa.String(36), nullable=False),
        sa.Column('project_id', sa.String(255), nullable=False),
        sa.Column('user_id', sa.String(255), nullable=False),
        sa.Column('started_at', sa.DateTime, nullable=False),
        sa.Column('ended_at', sa.DateTime),
        sa.Index('ix_nr_usage_ended', 'ended_at', 'id'),
        sa.Index('ix_nr_usage_reservation', 'reservation_id', 'ended_at'),
        sa.Index(
            'ix_nr_usage_window', 'project_id', 'ended_at', 'started_at', 'id'
        ),
    )
    _create(
        'nr_server_usage',
        sa.Column('server_uuid', sa.String(36), nullable=False),
        sa.Column('goes_on', sa.String(36)),
        sa.Column('flavor', sa.String(255), nullable=False),
        sa.Column('vcpus', sa.Integer, nullable=False),
        sa.Column('memory_mb', sa.Integer, nullable=False),
        sa.Column('disk_gb', sa.Integer, nullable=False),
        sa.Column('id', sa.Integer, primary_key=True),
        sa.Column('lease_id', sa.String(36), nullable=False),
        sa.Column('reservation_id', sa.String(36), nullable=False),
        sa.Column('project_id', sa.String(255), nullable=False),
        sa.Column('user_id', sa.String(255), nullable=False),
        sa.Column('started_at', sa.DateTime, nullable=False),
        sa.Column('ended_at', sa.DateTime),
        sa.Index('ix_nr_server_usage_ended', 'ended_at', 'id'),
        sa.Index(
            'ix_nr_server_usage_reservation', 'reservation_id', 'ended_at'
        ),
        sa.Index('ix_nr_server_usage_server', 'server_uuid', 'ended_at'),
        sa.Index(
            'ix_nr_server_usage_window',
            'project_id',
            'ended_at',
            'started_at',
            'id',
        ),
        sa.Index('uq_nr_server_usage_goes_on', 'goes_on', unique=True),
    )
    _create(
        'nr_deleted_leases',
        sa.Column('id', sa.String(36), primary_key=True),
        sa.Column('name', _SORTED, nullable=False),
        sa.Column('project_id', sa.String(255), nullable=False),
        sa.Column('status', sa.String(16), nullable=False),
        sa.Column('start_date', sa.DateTime, nullable=False),
        sa.Column('end_date', sa.DateTime, nullable=False),
        sa.Column('created_at', sa.DateTime, nullable=False),
        sa.Column('deleted_at', sa.DateTime, nullable=False),
        sa.Column('document', sa.JSON, nullable=False),
        sa.Index('ix_nr_deleted_leases_deleted', 'deleted_at', 'id'),
        sa.Index('ix_nr_deleted_leases_listed', 'created_at', 'id'),
        sa.Index(
            'ix_nr_deleted_leases_project', 'project_id', 'created_at', 'id'
        ),
    )
    _create(
        'nr_deleted_reservations',
        sa.Column('id', sa.String(36), primary_key=True),
        sa.Column('lease_id', sa.String(36), nullable=False, index=True),
        sa.Column('deleted_at', sa.DateTime),
        sa.Index('ix_nr_deleted_reservations_deleted', 'deleted_at', 'id'),
    )
    _create(
        'nr_lease_exists',
        sa.Column('id', sa.Integer, primary_key=True, autoincrement=False),
        sa.Column('hour', sa.DateTime, nullable=False),
        sa.Column('created_at', sa.DateTime),
        sa.Column('lease_id', sa.String(36)),
        sa.Column('version', sa.Integer, nullable=False),
    )
    _create(
        'nr_projects',
        sa.Column('project_id', sa.String(255), primary_key=True),
        sa.Column('generation', sa.Integer, nullable=False),
    )
    _create(
        'nr_identity',
        sa.Column('id', sa.Integer, primary_key=True, autoincrement=False),
        sa.Column('uuid', sa.String(36), nullable=False),
    )
    _create(
        'nr_freed',
        sa.Column('id', sa.Integer, primary_key=True),
        sa.Column('resource_id', sa.Integer),
        sa.Column('arrival', sa.Integer, nullable=False),
    )


def _create(table: str, *parts: sa.schema.SchemaItem) -> None:
    """Create a table. Constraints without a name get that of the convention
    in ``models.Base``."""
    op.create_table(table, *parts, **OPTIONS)


def _reference(
    name: str, kind: Any, column: str, **options: Any
) -> sa.Column[Any]:
    """Return a column that refers to a column of another table."""
    return sa.Column(
        name, kind, sa.ForeignKey(column), nullable=False, **options
    )
