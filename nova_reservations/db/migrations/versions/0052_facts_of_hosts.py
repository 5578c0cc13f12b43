# SPDX-License-Identifier: Apache-2.0
"""Values of facts that hosts share

Revision ID: 0052
Revises: 0051
"""

from alembic import op
import sqlalchemy as sa

revision = '0052'
down_revision = '0051'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        'nr_facts',
        sa.Column('id', sa.Integer, nullable=False),
        sa.Column('name', sa.String(300), nullable=False),
        sa.Column('digest', sa.String(64), nullable=False),
        sa.Column('value', sa.Text, nullable=False),
        sa.PrimaryKeyConstraint('id', name='pk_nr_facts'),
        sa.UniqueConstraint('name', 'digest', name='uq_nr_facts_name_digest'),
        mysql_engine='InnoDB',
        mysql_charset='utf8mb4',
        mysql_collate='utf8mb4_bin',
    )
    op.create_table(
        'nr_host_facts',
        sa.Column('resource_id', sa.Integer, nullable=False),
        sa.Column('fact_id', sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint(
            'resource_id', 'fact_id', name='pk_nr_host_facts'
        ),
        sa.ForeignKeyConstraint(
            ['resource_id'],
            ['nr_hosts.resource_id'],
            name='fk_nr_host_facts_resource_id',
            # Processes of the release before, which do not know this
            # table, must be able to delete hosts.
            ondelete='CASCADE',
        ),
        sa.ForeignKeyConstraint(
            ['fact_id'],
            ['nr_facts.id'],
            name='fk_nr_host_facts_fact_id',
        ),
        sa.Index('ix_nr_host_facts_fact_id', 'fact_id'),
        mysql_engine='InnoDB',
        mysql_charset='utf8mb4',
        mysql_collate='utf8mb4_bin',
    )
    op.add_column(
        'nr_hosts',
        sa.Column(
            'aggregates',
            sa.String(64),
            nullable=False,
            server_default=sa.text("''"),
        ),
    )
