# SPDX-License-Identifier: Apache-2.0
"""Resources that Nova or placement can not use, each name of a type once

Revision ID: 0051
Revises: 0050
"""

from alembic import op
import sqlalchemy as sa

from nova_reservations import exception

revision = '0051'
down_revision = '0050'
branch_labels = None
depends_on = None

NAME = 'uq_nr_resources_resource_type_name'


def upgrade() -> None:
    # Before anything is changed: on MySQL that would stay.
    _check_names()
    op.add_column('nr_resources', sa.Column('lost', sa.Text()))
    op.create_index(
        NAME, 'nr_resources', ['resource_type', 'name'], unique=True
    )


def _check_names() -> None:
    """:raises: InvalidState if two resources of a type have one name"""
    resource = sa.table(
        'nr_resources',
        *map(sa.column, ('id', 'resource_type', 'name')),
    )
    name = resource.c.resource_type, resource.c.name
    rows = op.get_bind().execute(
        sa.select(
            *name, sa.func.min(resource.c.id), sa.func.max(resource.c.id)
        )
        .group_by(*name)
        .having(sa.func.count() > 1)
        .order_by(*name)
        .limit(10)
    )
    doubled = [
        f'{kind} {name} (the first is {first}, the last {last})'
        for kind, name, first, last in rows
    ]
    if doubled:
        raise exception.InvalidState(
            f'More than one resource has the same name: {"; ".join(doubled)}. '
            'Remove all but one of each, with the release that has run until '
            'now, and sync again'
        )
