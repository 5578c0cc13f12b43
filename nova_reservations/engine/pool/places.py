# SPDX-License-Identifier: Apache-2.0
"""Places in services that can be leased, such as addresses; operators add and
remove them."""

from collections.abc import Mapping
import dataclasses
import datetime
from typing import Any

from oslo_log import log

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.db import api
from nova_reservations.db.resources import resources as rows
from nova_reservations.engine import resource_types
from nova_reservations.engine.pool import resources
from nova_reservations.types import enrols

LOG = log.getLogger(__name__)


@dataclasses.dataclass(eq=False)
class Places:
    """:ivar types: also those that are switched off: what they have left can
    be removed.
    """

    database: api.Database
    types: resource_types.Types
    resources: resources.Resources

    def find(
        self, resource_type: str, project_id: str | None = None
    ) -> list[objects.Inventoried]:
        """Return the places of a type that can be leased.

        :param project_id: only those that this project may see; None: all
        :raises: InvalidInput if the type is switched off
        :raises: CloudUnavailable
        """
        found = self.resources.find(objects.ResourceQuery(resource_type))
        if project_id is None:
            return found
        return self._kind(resource_type).seen(found, project_id)

    def get(
        self, resource_type: str, uuid: str, project_id: str | None = None
    ) -> objects.Inventoried:
        """:param uuid: as a client gives it; it may be no UUID at all
        :param project_id: the project that must see it; None: any
        :raises: NotFound, CloudUnavailable
        """
        kind = self._kind(resource_type)
        found: list[objects.Inventoried] = []
        if objects.is_id(uuid):
            with self.database.reader() as session:
                found = rows.of_uuid(session, resource_type, uuid)
        if project_id is not None:
            found = kind.seen(found, project_id)
        if not found:
            noun = kind.nouns[0]
            raise exception.NotFound(
                kind=f'{noun[0].upper()}{noun[1:]}', id=uuid
            )
        return found[0]

    def enrol(
        self,
        resource_type: str,
        asked: Mapping[str, Any],
        now: datetime.datetime,
        properties: Mapping[str, str] | None = None,
    ) -> objects.Inventoried:
        """Make a place leasable.

        :param asked: the body of the request
        :raises: InvalidInput, NotFound, InvalidState, ResourceExists,
            Contended, CloudUnavailable
        """
        kind = self._kind(resource_type)
        name, given = kind.enrol(asked)
        if not self.resources.find(objects.ResourceQuery(resource_type, name)):
            kind.check_unused(name)
        enrolled = self.resources.enrol(
            resource_type,
            name,
            now,
            properties={**(properties or {}), **given},
        )
        LOG.info(
            'The %(noun)s %(name)s can be leased',
            {'noun': kind.nouns[0], 'name': name},
        )
        return enrolled

    def remove(self, resource_type: str, uuid: str) -> None:
        """Take the place out of those that can be leased.

        :raises: NotFound, ResourceInUse if leases have it, or will have it
        """
        self.resources.remove(self.get(resource_type, uuid).id)

    def _kind(self, resource_type: str) -> enrols.Enrols:
        """:raises: InvalidInput if no type has such places"""
        kind = self.types.leasing(resource_type)
        if isinstance(kind, enrols.Enrols):
            return kind
        raise exception.InvalidInput(
            f'No resource of type {resource_type} is a place'
        )
