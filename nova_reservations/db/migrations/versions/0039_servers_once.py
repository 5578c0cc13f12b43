# SPDX-License-Identifier: Apache-2.0
"""A server is in one reservation at a time, by the record

Revision ID: 0039
Revises: 0038
"""

from alembic import op
import sqlalchemy as sa

revision = '0039'
down_revision = '0038'
branch_labels = None
depends_on = None

TABLE = 'nr_server_usage'
COLUMN = 'goes_on'
INDEX = 'uq_nr_server_usage_goes_on'

AT_ONCE = 500


def upgrade() -> None:
    # MySQL keeps what a run has done that was stopped half-way.
    inspector = sa.inspect(op.get_bind())
    if COLUMN not in {each['name'] for each in inspector.get_columns(TABLE)}:
        op.add_column(TABLE, sa.Column(COLUMN, sa.String(36)))
    _mark()
    if INDEX not in {each['name'] for each in inspector.get_indexes(TABLE)}:
        op.create_index(op.f(INDEX), TABLE, [COLUMN], unique=True)


def _mark() -> None:
    """Mark what goes on; of what was recorded twice the first goes."""
    row = sa.table(
        TABLE,
        *map(sa.column, ('id', 'server_uuid', 'ended_at', COLUMN)),
    )
    connection = op.get_bind()
    last: dict[str, int] = {}
    doubled = []
    for each in connection.execute(
        sa.select(row.c.id, row.c.server_uuid)
        .where(row.c.ended_at.is_(None))
        .order_by(row.c.id)
    ):
        if each.server_uuid in last:
            doubled.append(last[each.server_uuid])
        last[each.server_uuid] = each.id
    for first in range(0, len(doubled), AT_ONCE):
        ids = doubled[first : first + AT_ONCE]
        connection.execute(sa.delete(row).where(row.c.id.in_(ids)))
    connection.execute(
        sa.update(row)
        .where(row.c.ended_at.is_(None))
        .values(goes_on=row.c.server_uuid)
    )
