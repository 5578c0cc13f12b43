# SPDX-License-Identifier: Apache-2.0
"""The pool of hosts, and of resources of other types, that can be leased."""

from typing import Any

from openstack import resource


class _Enrolled(resource.Resource):
    allow_create = True
    allow_fetch = True
    allow_commit = True
    allow_delete = True
    allow_list = True
    # The operator's properties are in the same object.
    _allow_unknown_attrs_in_body = True

    def shown(self) -> dict[str, Any]:
        """Return what the API has shown, and nothing that it has not."""
        return dict(self._body.attributes)


class Host(_Enrolled):
    resource_key = 'host'
    resources_key = 'hosts'
    base_path = '/os-hosts'
    _query_mapping = resource.QueryParameters(
        'name', 'availability_zone', 'detail', 'sort_key', 'sort_dir'
    )

    service_name = resource.Body('service_name')
    hypervisor_hostname = resource.Body('hypervisor_hostname')
    availability_zone = resource.Body('availability_zone')
    vcpus = resource.Body('vcpus', type=int)
    memory_mb = resource.Body('memory_mb', type=int)
    local_gb = resource.Body('local_gb', type=int)
    reservable = resource.Body('reservable', type=bool)


class Resource(_Enrolled):
    """A resource of a type that a plugin offers."""

    resource_key = 'resource'
    resources_key = 'resources'
    base_path = '/resources'
    _query_mapping = resource.QueryParameters('resource_type', 'name')

    resource_type = resource.Body('resource_type')
    uuid = resource.Body('uuid')
    inventories = resource.Body('inventories', type=dict)
    properties = resource.Body('properties', type=dict)
    reservable = resource.Body('reservable', type=bool)
    #: Why no new lease gets it.
    holds = resource.Body('holds', type=list, list_type=dict)
    reservations = resource.Body('reservations', type=list, list_type=dict)


class Property(resource.Resource):
    """A property by which hosts, or resources of a type, can be asked for."""

    resources_key = 'resource_properties'
    base_path = '/os-hosts/properties'
    allow_list = True
    _query_mapping = resource.QueryParameters(
        'detail', 'all', 'resource_type', include_pagination_defaults=False
    )

    name = resource.Body('property', alternate_id=True)
    private = resource.Body('private', type=bool)
    values = resource.Body('values', type=list)


class Allocation(resource.Resource):
    """The reservations that have a host, or a resource, over time."""

    resources_key = 'allocations'
    base_path = '/os-hosts/allocations'
    allow_list = True
    _query_mapping = resource.QueryParameters(
        'host', 'lease_id', 'reservation_id', 'start', 'end', 'at'
    )

    resource_id = resource.Body('resource_id', alternate_id=True)
    service_name = resource.Body('service_name')
    reservations = resource.Body('reservations', type=list, list_type=dict)
