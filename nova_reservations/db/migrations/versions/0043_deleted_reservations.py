# SPDX-License-Identifier: Apache-2.0
"""Reservations of deleted leases are found by their ids

Revision ID: 0043
Revises: 0042
"""

from alembic import op
import sqlalchemy as sa

revision = '0043'
down_revision = '0042'
branch_labels = None
depends_on = None

TABLE = 'nr_deleted_reservations'
INDEX = 'ix_nr_deleted_reservations_lease_id'

AT_ONCE = 100


def upgrade() -> None:
    op.create_table(
        TABLE,
        sa.Column('id', sa.String(36), nullable=False),
        sa.Column('lease_id', sa.String(36), nullable=False),
        sa.PrimaryKeyConstraint('id', name=op.f(f'pk_{TABLE}')),
        if_not_exists=True,
        mysql_engine='InnoDB',
        mysql_charset='utf8mb4',
        mysql_collate='utf8mb4_bin',
    )
    # MySQL keeps what a run has done that was stopped half-way.
    inspector = sa.inspect(op.get_bind())
    if INDEX not in {each['name'] for each in inspector.get_indexes(TABLE)}:
        op.create_index(op.f(INDEX), TABLE, ['lease_id'])
    _fill()


def _fill() -> None:
    """Add the reservations of the leases that were deleted before."""
    lease = sa.table(
        'nr_deleted_leases', sa.column('id'), sa.column('document', sa.JSON)
    )
    row = sa.table(TABLE, sa.column('id'), sa.column('lease_id'))
    connection = op.get_bind()
    last = ''
    while True:
        leases = connection.execute(
            sa.select(lease.c.id, lease.c.document)
            .where(lease.c.id > last)
            .order_by(lease.c.id)
            .limit(AT_ONCE)
        ).all()
        if not leases:
            return
        last = leases[-1].id
        connection.execute(
            sa.delete(row).where(
                row.c.lease_id.in_([each.id for each in leases])
            )
        )
        rows = [
            {'id': item['id'], 'lease_id': each.id}
            for each in leases
            for item in each.document['reservations']
        ]
        if rows:
            connection.execute(sa.insert(row), rows)
