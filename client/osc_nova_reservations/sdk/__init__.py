# SPDX-License-Identifier: Apache-2.0
"""Leases for openstacksdk: ``conn.reservation``.

openstacksdk knows the service by name, and has no resources of it. Name this
in clouds.yaml, or call it with a connection::

    clouds:
      mycloud:
        vendor_hook: osc_nova_reservations.sdk:install
"""

from typing import Any

from keystoneauth1 import exceptions as keystone_exceptions
from openstack import connection
from openstack import service_description

from osc_nova_reservations.sdk import proxy

SERVICE_TYPE = 'reservation'
# The path of the lease API below the compute endpoint.
PATH = '/os-reservations/v1'


# Without [proxy.Proxy], which only openstacksdk of 2025.2 and later can take.
class Service(service_description.ServiceDescription):  # type: ignore[type-arg]
    """The lease API, at the catalog's entry of type ``reservation``; where
    there is none, below the compute endpoint."""

    def _make_proxy(self, instance: Any) -> proxy.Proxy:
        config = instance.config
        # The catalog's entry names the version, so nothing is discovered.
        endpoint = _endpoint(config, SERVICE_TYPE)
        if endpoint is None:
            compute = _endpoint(config, 'compute')
            endpoint = compute and compute.rstrip('/') + PATH
        return proxy.Proxy(
            config.get_session(),
            service_type=SERVICE_TYPE,
            interface=config.get_interface(SERVICE_TYPE),
            region_name=config.get_region_name(SERVICE_TYPE),
            endpoint_override=endpoint,
        )


def _endpoint(config: Any, service_type: str) -> str | None:
    given: str | None = config.get_endpoint(service_type)
    if given is not None:
        return given
    try:
        found: str | None = config.get_session().get_endpoint(
            service_type=service_type,
            interface=config.get_interface(service_type),
            region_name=config.get_region_name(service_type),
            skip_discovery=True,
        )
    except keystone_exceptions.EndpointNotFound:
        return None
    return found


def install(conn: connection.Connection) -> None:
    """Give the connection ``conn.reservation`` with leases, hosts, series and
    what else the lease API has. No request is sent."""
    conn.add_service(Service(SERVICE_TYPE))
