# SPDX-License-Identifier: Apache-2.0
"""Cells of hosts

Revision ID: 0017
Revises: 0016
"""

from alembic import op
import sqlalchemy as sa

revision = '0017'
down_revision = '0016'
branch_labels = None
depends_on = None


def upgrade() -> None:
    # MySQL commits each statement: what a run that died has left is kept.
    known = {
        column['name']
        for column in sa.inspect(op.get_bind()).get_columns('nr_hosts')
    }
    if 'cell' not in known:
        op.add_column(
            'nr_hosts',
            sa.Column(
                'cell',
                sa.String(36),
                nullable=False,
                server_default=sa.text("''"),
            ),
        )
