# SPDX-License-Identifier: Apache-2.0
"""Inventories and properties of any resource

Revision ID: 0034
Revises: 0032
"""

from alembic import op
import sqlalchemy as sa

revision = '0034'
down_revision = '0032'
branch_labels = None
depends_on = None

TABLES = ('nr_host_inventories', 'nr_host_properties')


def upgrade() -> None:
    for table in TABLES:
        _refer_to_any_resource(table)


def _refer_to_any_resource(table: str) -> None:
    """Let rows refer to a resource that is no host.

    MySQL keeps what a run has done that was stopped half-way.
    """
    # Table -> the name of the foreign key. A process that has run Nova's own
    # migrations leaves it to PostgreSQL to name foreign keys.
    names = {
        key['referred_table']: key['name']
        for key in sa.inspect(op.get_bind()).get_foreign_keys(table)
        if key['constrained_columns'] == ['resource_id']
    }
    name = op.f(f'fk_{table}_resource_id')
    with op.batch_alter_table(table) as batch:
        if 'nr_hosts' in names:
            batch.drop_constraint(
                names['nr_hosts'] or name, type_='foreignkey'
            )
        if 'nr_resources' not in names:
            batch.create_foreign_key(
                name, 'nr_resources', ['resource_id'], ['id']
            )
