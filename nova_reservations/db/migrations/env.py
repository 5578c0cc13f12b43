# SPDX-License-Identifier: Apache-2.0
"""How Alembic runs the migrations: on a connection that it is given."""

from alembic import context

from nova_reservations.db import migration
from nova_reservations.db import models

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
with context.begin_transaction():
    context.run_migrations()
connection.commit()
