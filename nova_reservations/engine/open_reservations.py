# SPDX-License-Identifier: Apache-2.0
"""Reservations that are open: servers use them without asking for them."""

from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses

from nova_reservations.db import api
from nova_reservations.db import slot_servers
from nova_reservations.engine import transactions
from nova_reservations.objects import demand
from nova_reservations.plugins.resource_types import base


@dataclasses.dataclass(frozen=True, slots=True)
class Open:
    """:ivar slots: on hosts that can be used now, free or not.

    :ivar share: what each of them holds.
    """

    reservation_id: str
    slots: int
    share: demand.Share


class OpenReservations:
    def __init__(
        self, database: api.Database, types: Mapping[str, base.ResourceType]
    ) -> None:
        self._database = database
        self._types = types

    def of(self, project_id: str) -> Sequence[Open]:
        """Return those of the project that can be used now, those first that
        end first; three queries, whatever there is of others.

        :raises: DatabaseUnavailable
        """
        with self._database.reader() as session:
            found = slot_servers.open_to(session, project_id)
        opened = []
        for one in found:
            # A type may have been switched off after the lease was made.
            if one.resource_type in self._types:
                share = base.stored_demand(
                    self._types[one.resource_type],
                    one.params,
                    f'reservation {one.id}',
                )
                if isinstance(share, demand.Share):
                    opened.append(Open(one.id, one.slots, share))
        return opened

    def choice(self, server_uuid: str) -> str | None:
        """Return the reservation that the server was created in without
        having asked for it, if any."""
        with self._database.reader() as session:
            return slot_servers.choice(session, server_uuid)

    def forget(self, server_uuids: Collection[str]) -> None:
        """Forget servers that were to be created in a reservation, and were
        not.

        :raises: Contended, DatabaseUnavailable
        """

        def forget(_: int) -> None:
            with self._database.writer() as session:
                slot_servers.unrecord(session, server_uuids)

        transactions.retry(forget)
