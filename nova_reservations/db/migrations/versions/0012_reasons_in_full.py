# SPDX-License-Identifier: Apache-2.0
"""Reasons in full, beside what the owner of a lease may read

Revision ID: 0012
Revises: 0011
"""

from alembic import op
import sqlalchemy as sa

revision = '0012'
down_revision = '0011'
branch_labels = None
depends_on = None


def upgrade() -> None:
    # MySQL commits each statement: what a run that died has left is kept.
    known = sa.inspect(op.get_bind()).get_columns('nr_leases')
    if not any(column['name'] == 'status_detail' for column in known):
        op.add_column('nr_leases', sa.Column('status_detail', sa.Text()))
