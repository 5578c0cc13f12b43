# SPDX-License-Identifier: Apache-2.0
"""The pool of enrolled hosts, as every request needs it, for the price of one
small query."""

import dataclasses

from nova_reservations.db import api
from nova_reservations.db.holdings import slot_servers
from nova_reservations.db.resources import hosts


@dataclasses.dataclass(frozen=True, slots=True)
class View:
    """:ivar hosts: the service hosts of all enrolled hosts.

    :ivar has_open: whether the project may have a reservation that its
        servers use without asking for it.
    """

    hosts: frozenset[str]
    has_open: bool


class Pool:
    """Caches the hosts' names until the counter of changes moves."""

    def __init__(self, database: api.Database) -> None:
        self._database = database
        self._seen: tuple[int, frozenset[str]] = (-1, frozenset())

    def view(self, project_id: str) -> View:
        """Return the facts of the pool that a request of the project needs.

        :raises: DatabaseUnavailable
        """
        version, names = self._seen
        with self._database.causal_reader() as session:
            # The counter is read before the names. Names newer than their
            # counter are read once more; names older than it would be kept.
            current, has_open = slot_servers.look(session, project_id)
            if current != version:
                names = hosts.pool(session)
                self._seen = current, names
        return View(names, has_open)
