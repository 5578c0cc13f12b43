# SPDX-License-Identifier: Apache-2.0
"""Lists of a project are sorted by indexes, whatever it has had before

Revision ID: 0018
Revises: 0017
"""

from alembic import op
import sqlalchemy as sa

revision = '0018'
down_revision = '0017'
branch_labels = None
depends_on = None

_WANTED = {
    'ix_nr_leases_project_status': [
        'project_id',
        'status',
        'created_at',
        'id',
    ],
    'ix_nr_leases_project_start': ['project_id', 'start_date', 'id'],
    'ix_nr_leases_project_end': ['project_id', 'end_date', 'id'],
    'ix_nr_leases_project_name': ['project_id', 'name', 'id'],
}


def upgrade() -> None:
    # MySQL keeps what a run has done that was stopped half-way.
    inspector = sa.inspect(op.get_bind())
    there = {index['name'] for index in inspector.get_indexes('nr_leases')}
    for name, columns in _WANTED.items():
        if name not in there:
            op.create_index(op.f(name), 'nr_leases', columns)
