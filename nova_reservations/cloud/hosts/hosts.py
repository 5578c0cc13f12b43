# SPDX-License-Identifier: Apache-2.0
"""Compute hosts, with their facts in Nova and placement."""

# Nova's objects get their names only when the process registers them.
from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
import datetime
import functools
import hashlib
import json

from nova import context as nova_context
from nova import exception as nova_exception
from nova import objects as nova_objects
from nova import servicegroup
from oslo_config import cfg
from oslo_utils import uuidutils

from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.cloud import cells
from nova_reservations.cloud import errors
from nova_reservations.cloud import parallel
from nova_reservations.cloud.hosts import aggregates as leased
from nova_reservations.cloud.hosts import host_specs
from nova_reservations.cloud.placement import placement
from nova_reservations.cloud.placement import provider_trees
from nova_reservations.cloud.servers import find
from nova_reservations.objects import requirements

CPU_INFO_LENGTH = 16_383
"""The number of characters, of any kind, that a TEXT of MySQL can hold."""


BINARY = 'nova-compute'

_OF_PROJECTS = 'filter_tenant_id'
"""Keys of Nova that begin so have ids of projects, which nobody may find by
comparing them."""

AUTO = 'AUTO: '
"""The prefix of the reason if Nova has disabled a service by itself.

Source: nova.virt.libvirt.driver.
"""


class Hosts:
    def __init__(self, conf: cfg.ConfigOpts) -> None:
        self._conf = conf
        self._service_hosts: dict[str, str] = {}
        self._trees = provider_trees.Trees()

    def find_hosts(self, name: str) -> Sequence[objects.Resource]:
        mapped = cells.mapped_hosts([name])
        answers = cells.ask(
            cells.by_cell(mapped) or cells.everywhere([name]), _named
        )
        # Names and UUIDs of nodes are unique in a cloud, so one answer is
        # enough. Without any, all cells must have answered.
        nodes = answers.found or answers.all()
        return [
            objects.Resource(0, objects.HOST, node.host, node.uuid)
            for node in nodes
        ]

    def pool_generations(
        self, trees: bool = False
    ) -> Mapping[str, ports.HostVersion]:
        generations = placement.pool_generations()
        # Placement does not have the service host. It never changes, so it is
        # cached.
        unknown = sorted(generations.keys() - self._service_hosts.keys())
        if unknown:
            answers = cells.ask(cells.everywhere(unknown), find.nodes)
            self._service_hosts |= {
                node.uuid: node.host for node in answers.found
            }
        seen = _Aggregates()
        cell_of = cells.mapped_hosts() if generations else {}
        below = provider_trees.trees() if trees else None
        versions = {}
        for uuid, generation in generations.items():
            host = self._service_hosts.get(uuid)
            versions[uuid] = ports.HostVersion(
                generation,
                None if host is None else self._zone(seen, host),
                cell_of[host].uuid if host in cell_of else None,
                None if below is None else below.get(uuid, ''),
                None if host is None else _digest(seen.specs(host)),
            )
        return versions

    def facts(
        self,
        hosts: Collection[objects.Resource],
        as_if_empty: Collection[str] = (),
    ) -> Sequence[objects.HostFacts]:
        if not hosts:
            return []
        names = {host.name for host in hosts}
        uuids = [host.uuid for host in hosts]
        nodes = cells.ask(
            cells.of_hosts(names),
            lambda context, _: find.nodes(context, uuids),
        ).all()
        providers = parallel.each(
            lambda uuid: placement.provider(uuid, uuid not in as_if_empty),
            [node.uuid for node in nodes],
        )
        below = parallel.each(self._trees.below, [node.uuid for node in nodes])
        seen = _Aggregates()
        cell_of = cells.mapped_hosts(names)
        return [
            _facts(
                node,
                provider,
                tree,
                self._zone(seen, node.host),
                seen.specs(node.host),
                cell_of[node.host].uuid if node.host in cell_of else '',
            )
            for node, provider, tree in zip(
                nodes, providers, below, strict=True
            )
            if provider is not None
        ]

    def without_provider(
        self, hosts: Collection[objects.Resource]
    ) -> Collection[str]:
        there = parallel.pairs(
            lambda host: provider_trees.exists(host.uuid), hosts
        )
        return {host.name for host, exists in there if not exists}

    def unusable(
        self, hosts: Collection[objects.Resource]
    ) -> Mapping[str, str]:
        lost = self.without_provider(hosts)
        mapped = cells.mapped_hosts({host.name for host in hosts})
        found = {}
        for host in hosts:
            if host.name in lost:
                found[host.name] = (
                    f'placement has no provider {host.uuid}: if another '
                    'machine has its name now, add the host again; else '
                    'remove it'
                )
            elif host.name not in mapped:
                found[host.name] = (
                    'Nova has mapped it to no cell: start its nova-compute, '
                    'and have the host discovered; or remove it'
                )
        return found

    def compute_services(
        self, now: datetime.datetime, hosts: Collection[str]
    ) -> Mapping[str, ports.ComputeService]:
        answers = cells.ask(cells.of_hosts(hosts), _services)
        known = {
            service.host: self._known(service, now)
            for service in answers.found
        }
        return {
            host: known.get(host, ports.GONE)
            for host in hosts
            if host in known or host not in answers.unheard
        }

    def services_by_cell(
        self, now: datetime.datetime
    ) -> Mapping[str, Mapping[str, ports.ComputeService]]:
        found: dict[str, dict[str, ports.ComputeService]] = defaultdict(dict)
        answers = cells.ask(
            cells.everywhere(),
            lambda context, _: [
                (context.cell_uuid, service)
                for service in _all_services(context)
            ],
        )
        mapped = cells.mapped_hosts(
            {service.host for _, service in answers.found}
        )
        for cell, service in answers.found:
            host = service.host
            # A record in a cell to which the host is not mapped is stale.
            if host not in mapped or mapped[host].uuid == cell:
                found[cell][host] = self._known(service, now)
        return found

    def _known(
        self, service: nova_objects.Service, now: datetime.datetime
    ) -> ports.ComputeService:
        return ports.ComputeService(
            up=self._is_up(service, now),
            disabled=service.disabled,
            forced_down=service.forced_down,
            gave_up=service.disabled
            and (service.disabled_reason or '').startswith(AUTO),
        )

    def _is_up(
        self, service: nova_objects.Service, now: datetime.datetime
    ) -> bool:
        if self._conf.servicegroup_driver != 'db':
            return self._service_group.service_is_up(service)
        # Compared with the engine's time: on a machine whose clock is wrong
        # all compute services would seem to be down.
        seen = service.last_seen_up or service.created_at
        silence = abs(now - seen.replace(tzinfo=datetime.UTC))
        return silence <= datetime.timedelta(
            seconds=self._conf.service_down_time
        )

    def cells_of(self, names: Collection[str]) -> Mapping[str, str]:
        return {
            host: cell.identity
            for host, cell in cells.mapped_hosts(names).items()
        }

    def passes(self, key: str, fact: str, spec: str) -> bool:
        return host_specs.passes(key, fact, spec)

    def _zone(self, seen: _Aggregates, host: str) -> str:
        default: str = self._conf.default_availability_zone
        return seen.zones.get(host, default)

    @functools.cached_property
    def _service_group(self) -> servicegroup.API:
        return servicegroup.API()


def _named(
    context: nova_context.RequestContext, names: Sequence[str]
) -> list[nova_objects.ComputeNode]:
    [name] = names
    found: list[nova_objects.ComputeNode] = []
    try:
        found.extend(
            nova_objects.ComputeNodeList.get_all_by_host(context, name)
        )
    except nova_exception.ComputeHostNotFound:
        found.extend(
            nova_objects.ComputeNodeList.get_by_hypervisor(context, name)
        )
    if uuidutils.is_uuid_like(name):
        found.extend(
            nova_objects.ComputeNodeList.get_all_by_uuids(context, [name])
        )
    # Databases match parts of names, or ignore their case.
    return [
        node
        for node in found
        if name in (node.host, node.hypervisor_hostname, node.uuid)
    ]


class _Aggregates:
    """The aggregates of Nova as they are now, without those of leases.

    :ivar zones: service host -> availability zone, of hosts that have one.
    """

    @errors.translated()
    def __init__(self) -> None:
        self.zones: dict[str, str] = {}
        self._metadata: dict[str, dict[str, set[str]]] = {}
        for aggregate in nova_objects.AggregateList.get_all(
            nova_context.get_admin_context()
        ):
            if leased.RESERVATION_KEY in aggregate.metadata:
                continue
            for host in aggregate.hosts:
                if aggregate.availability_zone is not None:
                    self.zones[host] = aggregate.availability_zone
                known = self._metadata.setdefault(host, {})
                for key, text in aggregate.metadata.items():
                    if key.startswith(_OF_PROJECTS):
                        continue
                    # As Nova's filters read it.
                    known.setdefault(key, set()).update(
                        value.strip() for value in text.split(',')
                    )

    def specs(self, host: str) -> tuple[tuple[str, str], ...]:
        """Return pairs of a key with its scope, and the values of a host,
        separated by commas."""
        return tuple(
            (requirements.AGGREGATES + key, ','.join(sorted(values)))
            for key, values in sorted(self._metadata.get(host, {}).items())
        )


def _digest(specs: tuple[tuple[str, str], ...]) -> str:
    return hashlib.sha256(json.dumps(specs).encode()).hexdigest()


def _facts(
    node: nova_objects.ComputeNode,
    provider: placement.Provider,
    below: provider_trees.Below,
    zone: str,
    aggregates: tuple[tuple[str, str], ...],
    cell: str,
) -> objects.HostFacts:
    # PostgreSQL stores no NUL.
    cpu_info = (node.cpu_info or '').replace('\0', '')
    return objects.HostFacts(
        uuid=node.uuid,
        service_host=node.host,
        hypervisor_hostname=node.hypervisor_hostname,
        vcpus=node.vcpus,
        memory_mb=node.memory_mb,
        local_gb=node.local_gb,
        free_memory_mb=provider.free('MEMORY_MB'),
        free_disk_gb=provider.free('DISK_GB'),
        cpu_info=cpu_info[:CPU_INFO_LENGTH],
        hypervisor_type=node.hypervisor_type,
        hypervisor_version=node.hypervisor_version,
        availability_zone=zone,
        provider_generation=provider.generation,
        traits=provider.traits,
        inventories=provider.inventories,
        cell=cell,
        nested=below.inventories,
        tree=below.tree,
        specs=(
            *aggregates,
            ('cpu_info', host_specs.normal(cpu_info)[:CPU_INFO_LENGTH]),
        ),
        aggregates=_digest(aggregates),
    )


def _services(
    context: nova_context.RequestContext, hosts: Sequence[str]
) -> list[nova_objects.Service]:
    # Nova can query one service of a cell, or all, but not several.
    if len(hosts) == 1:
        service = nova_objects.Service.get_by_host_and_binary(
            context, hosts[0], BINARY
        )
        found = [] if service is None else [service]
    else:
        found = _all_services(context)
    wanted = set(hosts)
    # Some databases ignore the case of names.
    return [service for service in found if service.host in wanted]


def _all_services(
    context: nova_context.RequestContext,
) -> list[nova_objects.Service]:
    return list(
        nova_objects.ServiceList.get_by_binary(
            context, BINARY, include_disabled=True
        )
    )
