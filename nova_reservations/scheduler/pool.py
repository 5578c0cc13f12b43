# SPDX-License-Identifier: Apache-2.0
"""Which hosts are enrolled, as of this request, at one small query."""

from nova_reservations.db import api
from nova_reservations.db import counters
from nova_reservations.db import hosts


class Pool:
    """Keeps the names until the counter of changes has moved."""

    def __init__(self, database: api.Database) -> None:
        self._database = database
        self._seen: tuple[int, frozenset[str]] = (-1, frozenset())

    def hosts(self) -> frozenset[str]:
        """Return the service hosts of all enrolled hosts.

        :raises: DatabaseUnavailable
        """
        version, names = self._seen
        with self._database.reader() as session:
            # The counter first: names that are newer than it are read again,
            # older ones would stay.
            current = counters.value(session, hosts.POOL)
            if current != version:
                names = hosts.pool(session)
                self._seen = current, names
        return names
