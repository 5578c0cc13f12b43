# SPDX-License-Identifier: Apache-2.0
"""The database's name: made once, and dumped and restored with the rest."""

from oslo_utils import uuidutils

from nova_reservations.db import api
from nova_reservations.db import identity
from nova_reservations.engine import transactions


def of(database: api.Database) -> str:
    """Return the UUID of the database; make one if it has none.

    :raises: Contended, DatabaseUnavailable
    """

    def ask(_: transactions.Attempt) -> str:
        with database.reader() as session:
            known = identity.find(session)
        if known is not None:
            return known
        new = uuidutils.generate_uuid()
        with database.writer() as session:
            identity.give(session, new)
        return new

    return transactions.retry(ask)
