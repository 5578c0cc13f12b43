# SPDX-License-Identifier: Apache-2.0
"""A second migration, made up: it has each kind of step that one may have

Revision ID: 0002
Revises: 0001
"""

from alembic import op
import sqlalchemy as sa

revision = '0002'
down_revision = '0001'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column('nr_leases', sa.Column('colour', sa.String(16)))
    op.add_column(
        'nr_leases',
        sa.Column('weight', sa.Integer, nullable=False, server_default='7'),
    )
    op.create_table(
        'nr_colours',
        sa.Column('name', sa.String(16), nullable=False),
        sa.Column('resource_id', sa.Integer),
        sa.PrimaryKeyConstraint('name', name='pk_nr_colours'),
        sa.ForeignKeyConstraint(
            ['resource_id'],
            ['nr_resources.id'],
            name='fk_nr_colours_resource_id',
        ),
        sa.Index('ix_nr_colours_resource', 'resource_id'),
        mysql_engine='InnoDB',
        mysql_charset='utf8mb4',
        mysql_collate='utf8mb4_bin',
    )
    op.create_index('ix_nr_leases_colour', 'nr_leases', ['colour', 'id'])
    op.drop_index('ix_nr_leases_series', table_name='nr_leases')
    with op.batch_alter_table('nr_resources') as batch:
        batch.create_check_constraint(
            op.f('ck_nr_resources_spread'), 'spread >= 0'
        )
    op.execute("UPDATE nr_leases SET colour = 'grey' WHERE weight = 7")
    op.bulk_insert(
        sa.table('nr_colours', sa.column('name')),
        [{'name': 'grey'}, {'name': 'green'}],
    )
