# SPDX-License-Identifier: Apache-2.0
"""Segments of physical networks that can be leased; operators add and remove
them."""

from collections.abc import Mapping
import datetime

from oslo_log import log

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.db import api
from nova_reservations.db.resources import resources as rows
from nova_reservations.engine.pool import resources
from nova_reservations.objects import segment as segments

LOG = log.getLogger(__name__)


class Segments:
    def __init__(
        self,
        database: api.Database,
        cloud: ports.Cloud,
        known: resources.Resources,
    ) -> None:
        self.database = database
        self.cloud = cloud
        self.resources = known

    def find(self) -> list[segments.Leasable]:
        """Return all segments that can be leased.

        :raises: InvalidInput if networks are switched off
        """
        found = self.resources.find(objects.ResourceQuery(segments.NETWORK))
        return list(map(segments.Leasable.of, found))

    def get(self, uuid: str) -> segments.Leasable:
        """:raises: NotFound"""
        with self.database.reader() as session:
            for known in rows.of_uuid(session, segments.NETWORK, uuid):
                return segments.Leasable.of(known)
        raise exception.NotFound(kind='Network', id=uuid)

    def enrol(
        self,
        where: segments.Segment,
        properties: Mapping[str, str],
        now: datetime.datetime,
    ) -> segments.Leasable:
        """Make a segment leasable.

        As far as Neutron tells, it must not give the segment to networks by
        itself. Only administrators can ask Neutron for such a segment.

        :raises: InvalidInput, InvalidState, ResourceExists, Contended,
            CloudUnavailable
        """
        where.check()
        self._check_kept(where)
        if not self.resources.find(
            objects.ResourceQuery(segments.NETWORK, where.name)
        ):
            self._check_unused(where)
        enrolled = self.resources.enrol(
            segments.NETWORK,
            where.name,
            now,
            properties={**properties, **where.properties},
        )
        LOG.info('VLAN %s can be leased', where)
        return segments.Leasable.of(enrolled)

    def _check_kept(self, where: segments.Segment) -> None:
        """:raises: InvalidInput if Neutron may give it to anybody"""
        ranges = self.cloud.segments.find_ranges(where.physical_network)
        if ranges is None:
            LOG.warning(
                'Neutron does not tell which VLANs it gives to networks by '
                'itself, for it has no network segment ranges: see that VLAN '
                '%s is in none of its network_vlan_ranges',
                where,
            )
        elif any(where.vlan in each for each in ranges):
            raise exception.InvalidInput(
                f'VLAN {where} is in a network segment range, so that Neutron '
                'may give it to any network: choose one outside, or make the '
                'range (network_vlan_ranges) smaller'
            )

    def _check_unused(self, where: segments.Segment) -> None:
        """:raises: InvalidState if there is a network on it"""
        found = self.cloud.segments.find_networks(
            where.physical_network, [where.vlan]
        )
        for network in found.values():
            raise exception.InvalidState(
                kind='VLAN',
                id=str(where),
                status='in use',
                reason=f'network {network.id} of Neutron has it',
            )

    def remove(self, uuid: str) -> None:
        """Take the segment out of those that can be leased.

        :raises: NotFound, ResourceInUse if leases have it, or will have it
        """
        self.resources.remove(self.get(uuid).id)
