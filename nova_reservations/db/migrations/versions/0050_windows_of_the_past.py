# SPDX-License-Identifier: Apache-2.0
"""A reservation may have a resource again that it has given back

Revision ID: 0050
Revises: 0049
"""

from alembic import op
import sqlalchemy as sa

revision = '0050'
down_revision = '0049'
branch_labels = None
depends_on = None

_TABLE = 'nr_allocations'
_BEFORE = ['reservation_id', 'resource_id']
_AFTER = [*_BEFORE, 'start_date']


def upgrade() -> None:
    # MySQL keeps what a run has done that was stopped half-way.
    names = {
        tuple(key['column_names']): key['name']
        for key in sa.inspect(op.get_bind()).get_unique_constraints(_TABLE)
    }
    # The new key is made first: MySQL needs one for the foreign key.
    if tuple(_AFTER) not in names:
        with op.batch_alter_table(_TABLE) as batch:
            batch.create_unique_constraint(
                op.f(f'uq_{_TABLE}_{"_".join(_AFTER)}'), _AFTER
            )
    before = names.get(tuple(_BEFORE))
    if before is not None:
        with op.batch_alter_table(_TABLE) as batch:
            batch.drop_constraint(before, type_='unique')
