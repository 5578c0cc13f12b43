# SPDX-License-Identifier: Apache-2.0
"""Leases of a name are in the order of their age

Revision ID: 0023
Revises: 0022
"""

from alembic import op
import sqlalchemy as sa

revision = '0023'
down_revision = '0022'
branch_labels = None
depends_on = None

_WANTED = {
    'ix_nr_leases_named': ['name', 'created_at', 'id'],
    'ix_nr_leases_project_named': ['project_id', 'name', 'created_at', 'id'],
}
_UNWANTED = ('ix_nr_leases_name', 'ix_nr_leases_project_name')


def upgrade() -> None:
    # MySQL keeps what a run has done that was stopped half-way.
    inspector = sa.inspect(op.get_bind())
    there = {index['name'] for index in inspector.get_indexes('nr_leases')}
    for name, columns in _WANTED.items():
        if name not in there:
            op.create_index(op.f(name), 'nr_leases', columns)
    for name in _UNWANTED:
        if name in there:
            op.drop_index(op.f(name), 'nr_leases')
