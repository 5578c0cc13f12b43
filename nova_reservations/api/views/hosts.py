# SPDX-License-Identifier: Apache-2.0
"""Hosts in the format of Blazar, and their capacity over time."""

from collections.abc import Collection
from collections.abc import Iterable
import dataclasses
from typing import Any

from nova_reservations import objects
from nova_reservations.api import dates
from nova_reservations.engine.leases import maintenance
from nova_reservations.engine.outlook import calendar
from nova_reservations.objects import holds
from nova_reservations.planner import bars


def show(host: objects.Host) -> dict[str, Any]:
    """Show what Blazar shows, and no more: to its clients any other key is a
    property that an operator has set."""
    facts = host.facts
    return {
        **host.properties,
        'id': str(host.id),
        'vcpus': facts.vcpus,
        'cpu_info': facts.cpu_info,
        'hypervisor_type': facts.hypervisor_type,
        'hypervisor_version': facts.hypervisor_version,
        'hypervisor_hostname': facts.hypervisor_hostname,
        'service_name': facts.service_host,
        'memory_mb': facts.memory_mb,
        'local_gb': facts.local_gb,
        # Blazar never sets these either, but clients expect the keys.
        'status': None,
        'trust_id': None,
        'availability_zone': facts.availability_zone,
        # As in Blazar, a host that has failed is not reservable until it
        # recovers. A disabled host is not reservable either.
        'reservable': host.bookable,
        'created_at': dates.show_stamp(host.created_at),
        'updated_at': dates.show_stamp(host.updated_at),
    }


def show_in_detail(host: objects.Host) -> dict[str, Any]:
    return {
        **show(host),
        'cell': host.facts.cell or None,
        'status_reason': host.status_reason,
    }


def show_unnamed(
    host: objects.Host, private: Collection[str]
) -> dict[str, Any]:
    """Show a host to whom its names are not told.

    :param private: names of the properties that are not shown
    """
    number = str(host.id)
    return {
        **{
            name: value
            for name, value in show(host).items()
            if name not in private or name not in host.properties
        },
        'hypervisor_hostname': number,
        'service_name': number,
    }


def allocation(
    resource_id: int,
    allocations: Iterable[objects.Allocation],
    held: Iterable[holds.Hold],
) -> dict[str, Any]:
    return {
        'resource_id': str(resource_id),
        'reservations': [reservation(each) for each in allocations],
        'holds': [hold(each) for each in held],
    }


def reservation(allocation: objects.Allocation) -> dict[str, Any]:
    """Show who has a resource, and when."""
    return {
        'id': allocation.reservation_id,
        'lease_id': allocation.lease_id,
        'start_date': dates.show(allocation.start_date),
        'end_date': dates.show(allocation.end_date),
    }


def hold(held: holds.Hold) -> dict[str, Any]:
    return {
        'reason': held.reason,
        'start_date': held.since and dates.show(held.since),
        'end_date': held.until and dates.show(held.until),
    }


def unnamed(host: calendar.Host) -> dict[str, Any]:
    """Show a host of the calendar of a project."""
    return {
        'number': host.number,
        'windows': [bar(each) for each in host.bars],
    }


def bar(shown: bars.Bar) -> dict[str, Any]:
    return {
        'kind': shown.kind,
        'start_date': dates.show(shown.start),
        'end_date': dates.show(shown.end),
        **(dataclasses.asdict(shown.own) if shown.own else {}),
    }


def counts(point: objects.CapacityPoint, items: str) -> dict[str, Any]:
    """:param items: the key of the number of all of them"""
    return {
        'start_date': dates.show(point.start),
        'end_date': dates.show(point.end),
        items: point.hosts,
        'reserved': point.reserved,
        'free': point.free,
        'free_without_moves': point.unmoved,
        'holds': dict(point.holds),
    }


def capacity(point: objects.CapacityPoint) -> dict[str, Any]:
    return {
        **counts(point, 'hosts'),
        **({} if point.slots is None else {'slots': point.slots}),
        **(
            {}
            if point.projects is None
            else {'projects': dict(point.projects)}
        ),
    }


def listed_property(prop: objects.Property, detail: bool) -> dict[str, Any]:
    if not detail:
        return {'property': prop.name}
    return {
        'property': prop.name,
        'private': prop.private,
        'values': list(prop.values),
    }


def show_property(prop: objects.Property) -> dict[str, Any]:
    return {
        # As in Blazar, where it is a UUID.
        'id': str(prop.id),
        'resource_type': objects.HOST,
        'property_name': prop.name,
        'private': prop.private,
        'created_at': dates.show(prop.created_at),
        'updated_at': prop.updated_at and dates.show(prop.updated_at),
    }


def held(found: maintenance.Affected) -> dict[str, Any]:
    return {
        'host': show_in_detail(found.host),
        'lease_id': found.window and found.window.id,
        'servers': [*found.servers],
        'leases': [occupant(each) for each in found.occupants],
    }


def occupant(found: objects.Occupant) -> dict[str, Any]:
    return {
        'id': found.lease_id,
        'project_id': found.project_id,
        'status': found.status,
        'start_date': dates.show(found.start_date),
        'end_date': dates.show(found.end_date),
        'leaving': found.is_leaving,
        'reason': found.stays_because,
    }
