# SPDX-License-Identifier: Apache-2.0
"""Messages that are to be sent, and why some were not

Revision ID: 0049
Revises: 0048
"""

from alembic import op
import sqlalchemy as sa

revision = '0049'
down_revision = '0048'
branch_labels = None
depends_on = None

TABLE = 'nr_messages'
INDEX = 'ix_nr_messages_due'


def upgrade() -> None:
    op.create_table(
        TABLE,
        sa.Column('id', sa.String(36), nullable=False),
        sa.Column('lease_id', sa.String(36), nullable=False),
        sa.Column('reservation_id', sa.String(36), nullable=False),
        sa.Column('action', sa.String(64), nullable=False),
        sa.Column('destination', sa.String(255), nullable=False),
        sa.Column('body', sa.Text(), nullable=False),
        sa.Column('event_type', sa.String(32), nullable=False),
        sa.Column('event_time', sa.DateTime(), nullable=False),
        sa.Column('end_date', sa.DateTime(), nullable=False),
        sa.Column('chosen', sa.String(64), nullable=True),
        sa.Column('due_at', sa.DateTime(), nullable=False),
        sa.Column('attempt', sa.Integer(), nullable=False),
        sa.Column('reason', sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint('id', name=op.f(f'pk_{TABLE}')),
        if_not_exists=True,
        mysql_engine='InnoDB',
        mysql_charset='utf8mb4',
        mysql_collate='utf8mb4_bin',
    )
    # MySQL keeps what a run has done that was stopped half-way.
    inspector = sa.inspect(op.get_bind())
    if INDEX not in {each['name'] for each in inspector.get_indexes(TABLE)}:
        op.create_index(
            op.f(INDEX), TABLE, ['due_at', 'id', 'attempt', 'destination']
        )
    columns = inspector.get_columns('nr_reservations')
    if 'untold_reason' not in {column['name'] for column in columns}:
        op.add_column('nr_reservations', sa.Column('untold_reason', sa.Text))
