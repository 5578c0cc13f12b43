# SPDX-License-Identifier: Apache-2.0
"""Whether nova-compute works on a host, and servers where it does not."""

# Nova's objects get their names only when the process registers them.
from __future__ import annotations

from collections.abc import Collection
from collections.abc import Mapping
import copy
import datetime
import functools

from nova import context as nova_context
from nova import exception as nova_exception
from nova import objects
from nova import servicegroup
from nova.compute import api as compute_api
from oslo_config import cfg
from oslo_log import log

from nova_reservations import exception
from nova_reservations import ports
from nova_reservations.cloud import cells
from nova_reservations.cloud import credentials
from nova_reservations.cloud import errors

LOG = log.getLogger(__name__)

BINARY = 'nova-compute'

AUTO = 'AUTO: '
"""How the reasons begin for which Nova disables a service by itself.

Source: nova.virt.libvirt.driver.
"""


class Services:
    def __init__(self, conf: cfg.ConfigOpts) -> None:
        self._configuration = conf

    def compute_services(
        self, now: datetime.datetime, host: str | None = None
    ) -> Mapping[str, ports.ComputeService]:
        return {
            service.host: ports.ComputeService(
                up=self._is_up(service, now),
                disabled=service.disabled,
                forced_down=service.forced_down,
                gave_up=service.disabled
                and (service.disabled_reason or '').startswith(AUTO),
            )
            for service in cells.ask(_services, host)
        }

    def _is_up(self, service: objects.Service, now: datetime.datetime) -> bool:
        if self._configuration.servicegroup_driver != 'db':
            return self._service_group.service_is_up(service)
        # By the engine's time: a scheduler whose clock is wrong would see
        # all computes fail.
        seen = service.last_seen_up or service.created_at
        silence = abs(now - seen.replace(tzinfo=datetime.UTC))
        return silence <= datetime.timedelta(
            seconds=self._configuration.service_down_time
        )

    @errors.translated()
    def cells_of(self, names: Collection[str]) -> Mapping[str, str]:
        wanted = set(names)
        return {
            mapping.host: mapping.cell_mapping.identity
            for mapping in objects.HostMappingList.get_all(
                nova_context.get_admin_context()
            )
            if mapping.host in wanted
        }

    def evacuate(
        self, servers: Collection[ports.Server], check: ports.Check
    ) -> Mapping[str, str]:
        refused: dict[str, str] = {}
        if not servers:
            return refused
        try:
            # The new host fetches images, and connects volumes.
            context = credentials.context()
        except exception.CloudRefused as error:
            return {server.uuid: str(error) for server in servers}
        for server in servers:
            check()
            reason = self._evacuate(copy.copy(context), server.uuid)
            if reason is not None:
                refused[server.uuid] = reason
        return refused

    def _evacuate(
        self, context: nova_context.RequestContext, uuid: str
    ) -> str | None:
        """Ask Nova to evacuate a server; return why it will not."""
        try:
            instance = self._compute_api.get(
                context,
                uuid,
                expected_attrs=[
                    'trusted_certs',
                    'pci_requests',
                    'pci_devices',
                    'resources',
                    'migration_context',
                ],
            )
            if instance.task_state is not None:
                # Nova would begin again what it has begun.
                return None
            self._compute_api.evacuate(
                context, instance, host=None, on_shared_storage=None
            )
        except nova_exception.InstanceNotFound:
            return None
        except Exception as error:
            # One server must not keep the others.
            LOG.warning('Server %s is not evacuated', uuid, exc_info=True)
            return str(error)
        return None

    @functools.cached_property
    def _compute_api(self) -> compute_api.API:
        return compute_api.API()

    @functools.cached_property
    def _service_group(self) -> servicegroup.API:
        return servicegroup.API()


def _services(
    context: nova_context.RequestContext, host: str | None
) -> list[objects.Service]:
    if host is None:
        return list(
            objects.ServiceList.get_by_binary(
                context, BINARY, include_disabled=True
            )
        )
    service = objects.Service.get_by_host_and_binary(context, host, BINARY)
    # Some databases compare names without regard to case.
    return [service] if service is not None and service.host == host else []
