# SPDX-License-Identifier: Apache-2.0
"""Resources that are disabled, down or forced down; those not to be healed

Revision ID: 0009
Revises: 0008
"""

from alembic import op
import sqlalchemy as sa

revision = '0009'
down_revision = '0008'
branch_labels = None
depends_on = None


def upgrade() -> None:
    # MySQL commits each statement: what a run that died has left is kept.
    known = {
        column['name']
        for column in sa.inspect(op.get_bind()).get_columns('nr_resources')
    }
    for column in (
        sa.Column('hold', sa.String(16)),
        sa.Column('held_since', sa.DateTime()),
        sa.Column(
            'forced_down', sa.Boolean(), nullable=False, server_default='0'
        ),
        sa.Column('braked_at', sa.DateTime()),
        sa.Column(
            'brake_off', sa.Boolean(), nullable=False, server_default='0'
        ),
    ):
        if column.name not in known:
            op.add_column('nr_resources', column)
