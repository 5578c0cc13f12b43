# SPDX-License-Identifier: Apache-2.0
"""Servers on hosts that could be drained, and the hosts with room for them."""

# Nova's objects get their names only when the process registers them.
from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import datetime

from nova import context as nova_context
from nova import exception as nova_exception
from nova import objects as nova_objects
from nova.scheduler import request_filter
from nova.scheduler import utils
from oslo_log import log

from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.cloud import cells
from nova_reservations.cloud import errors
from nova_reservations.cloud import parallel
from nova_reservations.cloud.placement import placement
from nova_reservations.cloud.servers import find
from nova_reservations.objects import amounts

LOG = log.getLogger(__name__)

DEVICES = ('VGPU', 'PGPU', 'FPGA', 'PCI_DEVICE', 'SRIOV_NET_VF')
"""Prefixes of resource classes whose units are devices, or parts of them."""


def servers_on(
    hosts: Collection[objects.Resource],
) -> Mapping[str, Sequence[ports.PlacedServer]]:
    found: dict[str, list[ports.PlacedServer]] = {
        host.name: [] for host in hosts
    }
    if not hosts:
        return found
    answers = cells.ask(cells.of_hosts(found), _placed_on)
    for name in answers.unheard:
        del found[name]
    for placed in answers.found:
        # Some databases compare names without regard to case.
        if placed.server.host in found:
            found[placed.server.host].append(placed)
    return found


def find_room(
    hosts: ports.Hosts,
    servers: Collection[ports.Server],
    now: datetime.datetime,
) -> ports.Destinations:
    """Return the hosts on which placement has room for the servers.

    Nova's filters are not run here. If they refuse all hosts, the move
    fails, and the server stays where it is.
    """
    # A server that is being moved is listed on two hosts.
    uuids = sorted({server.uuid for server in servers})
    asked = dict(parallel.pairs(_ask, uuids))
    roots = sorted(
        {root for _, found in asked.values() for root in found.roots}
    )
    # Hosts in a cell that does not answer are left out.
    nodes = cells.ask(cells.everywhere(roots), find.nodes).found
    services = hosts.compute_services(now, {node.host for node in nodes})
    names = {
        node.uuid: node.host
        for node in nodes
        if node.host in services and services[node.host].is_working
    }
    # Servers are only moved within their cell.
    cells_of = hosts.cells_of(
        {*names.values(), *(server.host for server in servers)}
    )
    homes = {server.uuid: cells_of.get(server.host) for server in servers}
    return ports.Destinations(
        needs={uuid: needs for uuid, (needs, _) in asked.items()},
        fits={
            uuid: [
                names[root]
                for root in found.roots
                if root in names and cells_of.get(names[root]) == homes[uuid]
            ]
            for uuid, (_, found) in asked.items()
        },
        free=_least(
            (names[root], room)
            for _, found in asked.values()
            for root, room in found.free.items()
            if root in names
        ),
    )


def _least(
    rooms: Iterable[tuple[str, amounts.Amounts]],
) -> dict[str, amounts.Amounts]:
    """Return the least free amounts of each host: they may have changed from
    one answer to the next."""
    least: dict[str, amounts.Amounts] = {}
    for host, room in rooms:
        least[host] = room.lesser(least.get(host, amounts.NOTHING))
    return least


def _placed_on(
    context: nova_context.RequestContext, names: Sequence[str]
) -> list[ports.PlacedServer]:
    return [
        _placed(instance)
        for instance in find.existing(
            context,
            ['flavor', 'numa_topology', 'pci_requests'],
            {'host': list(names)},
        )
    ]


def _placed(instance: nova_objects.Instance) -> ports.PlacedServer:
    flavor = instance.flavor
    topology = instance.numa_topology
    pci = instance.pci_requests
    return ports.PlacedServer(
        ports.Server(
            instance.uuid,
            instance.project_id,
            instance.host,
            instance.vm_state,
            instance.task_state,
        ),
        ports.Flavor(
            vcpus=flavor.vcpus,
            memory_mb=flavor.memory_mb,
            root_gb=flavor.root_gb,
            ephemeral_gb=flavor.ephemeral_gb,
            swap_mb=flavor.swap,
            rxtx_factor=flavor.rxtx_factor or 1.0,
            extra_specs=dict(flavor.extra_specs),
        ),
        pinned=bool(topology and topology.cpu_pinning_requested),
        passthrough=bool(pci and pci.requests)
        or any(_is_device(key) for key in flavor.extra_specs),
    )


def _is_device(extra_spec: str) -> bool:
    request = utils.ResourceRequest
    match = request.XS_KEYPAT.match(extra_spec)
    return bool(
        match
        and match[1] == request.XS_RES_PREFIX
        and match[3].startswith(DEVICES)
    )


NOWHERE = placement.Candidates((), {})


@errors.translated()
def _ask(uuid: str) -> tuple[amounts.Amounts, placement.Candidates]:
    """Return what the server needs, and its allocation candidates."""
    context = nova_context.get_admin_context()
    try:
        spec = nova_objects.RequestSpec.get_by_instance_uuid(context, uuid)
        # nova-conductor does the same before it moves a server.
        spec.reset_forced_destinations()
        spec.requested_destination = None
        request_filter.process_reqspec(context, spec)
        spec.root_forbidden.add(placement.POOL_TRAIT)
        request = utils.resources_from_request_spec(context, spec, None)
    except (
        nova_exception.RequestSpecNotFound,
        nova_exception.RequestFilterFailed,
    ) as error:
        LOG.warning(
            'Server %(server)s has nowhere to go: %(reason)s',
            {'server': uuid, 'reason': error},
        )
        return amounts.NOTHING, NOWHERE
    needs = amounts.Amounts(
        {
            name: int(amount)
            for name, amount in request.merged_resources().items()
        }
    )
    return needs, placement.candidates(request.to_querystring())
