# SPDX-License-Identifier: Apache-2.0
"""The name of the database

Revision ID: 0013
Revises: 0012
"""

from alembic import op
import sqlalchemy as sa

revision = '0013'
down_revision = '0012'
branch_labels = None
depends_on = None


def upgrade() -> None:
    # Its row is made at first use: copies of an empty database differ.
    op.create_table(
        'nr_identity',
        sa.Column('id', sa.Integer(), nullable=False, autoincrement=False),
        sa.Column('uuid', sa.String(36), nullable=False),
        sa.PrimaryKeyConstraint('id', name=op.f('pk_nr_identity')),
        if_not_exists=True,
        mysql_engine='InnoDB',
        mysql_charset='utf8mb4',
        mysql_collate='utf8mb4_bin',
    )
