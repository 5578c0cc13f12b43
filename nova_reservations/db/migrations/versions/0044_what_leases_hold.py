# SPDX-License-Identifier: Apache-2.0
"""Leases in ERROR that something is left of are found by an index

Revision ID: 0044
Revises: 0043
"""

from alembic import op
import sqlalchemy as sa

revision = '0044'
down_revision = '0043'
branch_labels = None
depends_on = None

_TABLE = 'nr_leases'
_BEFORE = 'ix_nr_leases_counted'
_INDEX = 'ix_nr_leases_holding'


def upgrade() -> None:
    # MySQL keeps what a run has done that was stopped half-way.
    inspector = sa.inspect(op.get_bind())
    there = {item['name'] for item in inspector.get_indexes(_TABLE)}
    if _INDEX not in there:
        op.create_index(
            op.f(_INDEX),
            _TABLE,
            ['project_id', 'by_default', 'status', 'in_nova', 'id'],
        )
    # Workers of the release before find theirs by the new one as well.
    if _BEFORE in there:
        op.drop_index(op.f(_BEFORE), _TABLE)
