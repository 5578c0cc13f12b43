# SPDX-License-Identifier: Apache-2.0
"""Leases know whether any server was in them; what operators count

Revision ID: 0031
Revises: 0029
"""

from alembic import op
import sqlalchemy as sa

revision = '0031'
down_revision = '0029'
branch_labels = None
depends_on = None

COLUMNS = ('used_at', 'unused_at')

COUNTERS = ('claims_taken_over', 'refused_over_limit', 'refused_no_room')


def upgrade() -> None:
    # MySQL keeps what a run has done that was stopped half-way.
    inspector = sa.inspect(op.get_bind())
    there = {item['name'] for item in inspector.get_columns('nr_leases')}
    for name in COLUMNS:
        if name not in there:
            op.add_column('nr_leases', sa.Column(name, sa.DateTime()))
    leases = sa.table(
        'nr_leases',
        sa.column('status'),
        sa.column('start_date'),
        sa.column('used_at'),
    )
    # Nobody has noted who was in these: they count as used.
    op.execute(
        sa.update(leases)
        .where(leases.c.status == 'ACTIVE', leases.c.used_at.is_(None))
        .values(used_at=leases.c.start_date)
    )
    counters = sa.table(
        'nr_counters', sa.column('name'), sa.column('value', sa.Integer())
    )
    op.execute(sa.delete(counters).where(counters.c.name.in_(COUNTERS)))
    op.bulk_insert(counters, [{'name': name, 'value': 0} for name in COUNTERS])
