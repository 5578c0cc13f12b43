# SPDX-License-Identifier: Apache-2.0
"""Alembic's environment: it runs the migrations on a connection that it is
given."""

from alembic import context

from nova_reservations.db import migration
from nova_reservations.db import models
from nova_reservations.db import repeatable

connection = context.config.attributes['connection']
context.configure(
    connection=connection,
    target_metadata=models.Base.metadata,
    version_table=migration.VERSION_TABLE,
    transaction_per_migration=True,
    include_name=lambda name, kind, _: (
        kind != 'table' or str(name).startswith('nr_')
    ),
    compare_type=True,
)
if connection.dialect.name in ('mysql', 'mariadb'):
    own = context.get_context()
    own.impl = repeatable.RepeatableImpl(
        connection.dialect,
        connection,
        as_sql=False,
        transactional_ddl=False,
        output_buffer=None,
        context_opts=own.opts,
    )
with context.begin_transaction():
    context.run_migrations()
connection.commit()
