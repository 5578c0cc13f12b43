# SPDX-License-Identifier: Apache-2.0
"""Resources of types that other packages bring: these say what there is. Hosts
are enrolled instead (``hosts.py``)."""

import datetime

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.db import api
from nova_reservations.db import capacity
from nova_reservations.db import resources
from nova_reservations.engine import transactions


class Resources:
    def __init__(self, database: api.Database) -> None:
        self.database = database

    def find(self, resource_type: str) -> list[objects.Resource]:
        """Return all of the type, by name."""
        with self.database.reader() as session:
            return resources.find(session, resource_type)

    def add(
        self, resource_type: str, name: str, uuid: str, now: datetime.datetime
    ) -> objects.Resource:
        """Add a resource that can be leased; one that is there already is left
        as it is.

        :param name: as its monitor names it, at most 255 characters.
        :param uuid: at most 36 characters, unique among those of the type.
        :raises: InvalidInput if it is a host
        :raises: Contended, DatabaseUnavailable
        """
        _check(resource_type)

        def insert(_: transactions.Attempt) -> objects.Resource:
            with self.database.writer() as session:
                known = resources.find(session, resource_type, uuid)
                if known:
                    return known[0]
                resource_id = resources.insert(
                    session, resource_type, name, uuid, now, reservable=True
                )
                capacity.freed(session, now, [resource_id])
            return objects.Resource(resource_id, resource_type, name, uuid)

        return transactions.retry(insert)

    def remove(self, resource: objects.Resource) -> None:
        """Remove a resource that can be leased, if it is there.

        :raises: InvalidInput if it is a host
        :raises: InvalidState if leases have it, or will
        :raises: DatabaseUnavailable
        """
        _check(resource.resource_type)
        with self.database.writer() as session:
            held = resources.withdraw(session, resource.id)
            if held:
                raise exception.InvalidState(
                    kind='Resource',
                    id=resource.name,
                    status='in use',
                    reason=objects.plural(
                        held, 'reservation holds it', 'reservations hold it'
                    ),
                )
            resources.delete(session, resource.id)


def _check(resource_type: str) -> None:
    if resource_type == objects.HOST:
        raise exception.InvalidInput(
            'Hosts are enrolled and removed by os-hosts, or by '
            'nova-reservations-manage'
        )
