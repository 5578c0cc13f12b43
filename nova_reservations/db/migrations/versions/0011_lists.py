# SPDX-License-Identifier: Apache-2.0
"""Lists of leases pass over those that are over without reading them

Revision ID: 0011
Revises: 0010
"""

from alembic import op
import sqlalchemy as sa

revision = '0011'
down_revision = '0010'
branch_labels = None
depends_on = None

_WANTED = {
    'ix_nr_leases_listed': [
        'created_at',
        'id',
        'end_date',
        'status',
        'in_nova',
    ],
    'ix_nr_leases_listed_project': [
        'project_id',
        'created_at',
        'id',
        'end_date',
        'status',
        'in_nova',
    ],
    'ix_nr_leases_start': ['start_date', 'id'],
    'ix_nr_leases_end': ['end_date', 'id'],
}
_REPLACED = ('ix_nr_leases_created', 'ix_nr_leases_project')
"""New indexes begin with the columns of these, and so replace them."""


def upgrade() -> None:
    # MySQL keeps what a run has done that was stopped half-way.
    inspector = sa.inspect(op.get_bind())
    there = {index['name'] for index in inspector.get_indexes('nr_leases')}
    for name, columns in _WANTED.items():
        if name not in there:
            op.create_index(op.f(name), 'nr_leases', columns)
    for name in _REPLACED:
        if name in there:
            op.drop_index(op.f(name), 'nr_leases')
