# SPDX-License-Identifier: Apache-2.0
"""Audit of addresses: what was changed in Neutron behind our back.

Where no address can be leased, Neutron is not asked.
"""

from collections import defaultdict
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import datetime

from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.db import api
from nova_reservations.db import audit
from nova_reservations.db import leases
from nova_reservations.db import resources
from nova_reservations.engine import identity
from nova_reservations.engine.findings import Finding
from nova_reservations.objects import address as addresses

Seen = Mapping[str, ports.FloatingIP]
"""Name of an address -> the floating IP that has it."""


class AddressAudit:
    def __init__(self, database: api.Database, cloud: ports.Cloud) -> None:
        self.database = database
        self.cloud = cloud

    def findings(self, now: datetime.datetime) -> Iterator[Finding]:
        """:raises: CloudUnavailable"""
        with self.database.reader() as session:
            found = resources.find(
                session, objects.ResourceQuery(addresses.FLOATING_IP)
            )
        known = list(map(addresses.Address.of, found))
        of_network = defaultdict(list)
        for address in known:
            of_network[address.network_id].append(address)
        seen: dict[str, ports.FloatingIP] = {}
        for network_id, theirs in of_network.items():
            seen |= self._seen(network_id, theirs)
            yield from self._of_network(network_id, theirs)
        if known:
            yield from self._of_leases(seen, now)
            yield from self._of_strangers(seen)
            yield from self._of_leftovers(seen)

    def _seen(
        self, network_id: str, theirs: Sequence[addresses.Address]
    ) -> Seen:
        found = self.cloud.networks.find_floating_ips(
            network_id, [each.address for each in theirs]
        )
        return {
            addresses.name(address, network_id): its
            for address, its in found.items()
        }

    def _of_network(
        self, network_id: str, theirs: Sequence[addresses.Address]
    ) -> Iterator[Finding]:
        """Yield addresses that are not for leases alone any more."""
        network = self.cloud.networks.find_network(network_id)
        if network is None or not network.external:
            yield Finding(
                f'Network {network_id} is not there, or not external any '
                f'more: {len(theirs)} of its addresses can be leased. Remove '
                'them'
            )
            return
        for each in theirs:
            subnets = [
                subnet
                for subnet in network.subnets
                if subnet.has(each.address)
            ]
            if not subnets or any(
                subnet.gives(each.address) for subnet in subnets
            ):
                yield Finding(
                    f'Address {each.address} is in no subnet of network '
                    f'{network_id} any more, or in an allocation pool, from '
                    'which Neutron gives it to anybody: make the pool '
                    'smaller, or remove the address'
                )

    def _of_leases(
        self, seen: Seen, now: datetime.datetime
    ) -> Iterator[Finding]:
        """Yield what active leases should have and have not."""
        with self.database.reader() as session:
            leased = audit.leased_addresses(session)
        for name, reservation_id, lease_id, project_id in leased:
            found = seen.get(name)
            if found is not None and (
                found.project_id != project_id
                or (found.is_tagged and found.reservation_id == reservation_id)
            ):
                # One of somebody else's is told of beside.
                continue
            address, _ = addresses.parse(name)
            yield Finding(
                f'Floating IP {address} of reservation {reservation_id} is '
                'not in Neutron, or without its tags',
                self._regather(lease_id, now),
            )

    def _of_strangers(self, seen: Seen) -> Iterator[Finding]:
        for found in seen.values():
            if found.reservation_id is None:
                yield Finding(
                    f'Address {found.address} is for leases, and floating IP '
                    f'{found.id} of project {found.project_id} has it, which '
                    'is of none: delete it, or remove the address'
                )

    def _of_leftovers(self, seen: Seen) -> Iterator[Finding]:
        """Yield floating IPs of leases that are over.

        Those of another database, or of Blazar, only where they are in the
        way; and they are left to whoever knows it.
        """
        marked = {
            each.id: each
            for each in (*seen.values(), *self.cloud.networks.find_marked())
            if each.reservation_id is not None
        }
        ids = {each.reservation_id or '' for each in marked.values()}
        with self.database.reader() as session:
            alive = leases.in_nova(session, ids)
            known = audit.reservations(session, ids)
        ours = identity.of(self.database)
        in_the_way = {each.id for each in seen.values()}
        for found in marked.values():
            if found.reservation_id in alive:
                continue
            problem = (
                f'Floating IP {found.address} of reservation '
                f'{found.reservation_id} is of no lease'
            )
            if found.database == ours or found.reservation_id in known:
                yield Finding(f'{problem} any more', self._delete(found))
            elif found.id in in_the_way:
                yield Finding(
                    f'{problem} of this database: see which other one, or '
                    'which Blazar, is in use. If that is gone for ever, '
                    'delete it in Neutron'
                )

    def _regather(
        self, lease_id: str, now: datetime.datetime
    ) -> Callable[[], None]:
        def repair() -> None:
            with self.database.writer() as session:
                audit.regather(session, lease_id, now)

        return repair

    def _delete(self, found: ports.FloatingIP) -> Callable[[], None]:
        def repair() -> None:
            self.cloud.networks.delete_floating_ip(found, check=lambda: None)

        return repair
