# SPDX-License-Identifier: Apache-2.0
"""Leases are sorted by their names as everywhere, whatever the locale

Revision ID: 0041
Revises: 0040
"""

from alembic import op
import sqlalchemy as sa

revision = '0041'
down_revision = '0040'
branch_labels = None
depends_on = None


def upgrade() -> None:
    # MySQL and SQLite compare bytes already.
    if op.get_bind().dialect.name == 'postgresql':
        for table in ('nr_leases', 'nr_deleted_leases'):
            op.alter_column(table, 'name', type_=sa.String(255, collation='C'))
