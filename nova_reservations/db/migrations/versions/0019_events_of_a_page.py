# SPDX-License-Identifier: Apache-2.0
"""The events of a page of leases are read from an index alone

Revision ID: 0019
Revises: 0018
"""

from alembic import op
import sqlalchemy as sa

revision = '0019'
down_revision = '0018'
branch_labels = None
depends_on = None

_NAME = 'ix_nr_events_read'
_COLUMNS = [
    'lease_id',
    'event_type',
    'time',
    'status',
    'id',
    'created_at',
    'updated_at',
]


def upgrade() -> None:
    # MySQL keeps what a run has done that was stopped half-way.
    inspector = sa.inspect(op.get_bind())
    there = {index['name'] for index in inspector.get_indexes('nr_events')}
    if _NAME not in there:
        op.create_index(op.f(_NAME), 'nr_events', _COLUMNS)
