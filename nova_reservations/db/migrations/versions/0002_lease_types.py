# SPDX-License-Identifier: Apache-2.0
"""Lease types; roles and failures of resources

Revision ID: 0002
Revises: 0001
"""

from alembic import op
import sqlalchemy as sa

revision = '0002'
down_revision = '0001'
branch_labels = None
depends_on = None

STATUS = (
    "status IN ('CREATING', 'IN_PROGRESS', 'PENDING', 'STARTING', 'ACTIVE', "
    "'TERMINATING', 'TERMINATED', 'DELETING', 'TIMEDOUT', 'ERROR')"
)
LEASE_TYPE = "lease_type IN ('immediate', 'scheduled', 'retry', 'best_effort')"
ROLE = "role IN ('pool', 'donor')"


def upgrade() -> None:
    with op.batch_alter_table('nr_leases') as batch:
        for column in (
            # The defaults are for the rows that are there, and for those
            # that a worker of the schema before writes during an upgrade.
            sa.Column(
                'lease_type',
                sa.String(length=16),
                nullable=False,
                server_default='scheduled',
            ),
            sa.Column('max_retries', sa.Integer(), nullable=True),
            sa.Column(
                'tries', sa.Integer(), nullable=False, server_default='0'
            ),
            sa.Column('retry_at', sa.DateTime(), nullable=True),
            sa.Column('duration', sa.Integer(), nullable=True),
        ):
            batch.add_column(column)
        batch.drop_constraint(op.f('ck_nr_leases_status'), type_='check')
        batch.create_check_constraint(op.f('ck_nr_leases_status'), STATUS)
        batch.create_check_constraint(
            op.f('ck_nr_leases_lease_type'), LEASE_TYPE
        )
    op.execute(
        "UPDATE nr_leases SET lease_type = 'immediate' "
        'WHERE start_date <= created_at'
    )
    with op.batch_alter_table('nr_resources') as batch:
        batch.add_column(
            sa.Column(
                'role',
                sa.String(length=16),
                nullable=False,
                server_default='pool',
            )
        )
        batch.add_column(sa.Column('down_since', sa.DateTime(), nullable=True))
        batch.create_check_constraint(op.f('ck_nr_resources_role'), ROLE)
