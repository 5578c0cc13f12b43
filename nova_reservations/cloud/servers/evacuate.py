# SPDX-License-Identifier: Apache-2.0
"""Evacuation: Nova rebuilds the servers of a failed host on other hosts."""

from collections.abc import Collection
from collections.abc import Mapping
import copy

from nova import context as nova_context
from nova import exception as nova_exception
from nova.compute import vm_states
from oslo_log import log

from nova_reservations import exception
from nova_reservations import ports
from nova_reservations.cloud import credentials
from nova_reservations.cloud.servers import requests
from nova_reservations.ports import fences

LOG = log.getLogger(__name__)

_EVACUABLE = frozenset({vm_states.ACTIVE, vm_states.ERROR, vm_states.STOPPED})
"""Nova refuses to evacuate servers in other states.

Source: nova.compute.api.API.evacuate
"""


def evacuate(
    nova: requests.Nova,
    servers: Collection[ports.Server],
    check: ports.Check,
) -> Mapping[str, str]:
    refused: dict[str, str] = {}
    if not servers:
        return refused
    try:
        # The new host needs a token to fetch images and connect volumes.
        context = credentials.context()
    except exception.CloudRefused as error:
        return {server.uuid: str(error) for server in servers}
    for server in servers:
        with fences.around(check):
            reason = _evacuate(nova, copy.copy(context), server.uuid)
        if reason is not None:
            refused[server.uuid] = reason
    return refused


def _evacuate(
    nova: requests.Nova, context: nova_context.RequestContext, uuid: str
) -> str | None:
    """Ask Nova to evacuate a server; return why it will not."""
    try:
        instance = nova.compute_api.get(
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
            # Most likely it is being evacuated already. Nova would begin
            # that again.
            return None
        if instance.vm_state not in _EVACUABLE:
            return f'it is {instance.vm_state}'
        nova.compute_api.evacuate(
            context, instance, host=None, on_shared_storage=None
        )
    except nova_exception.InstanceNotFound:
        return None
    except exception.ReservationsError:
        raise
    except Exception as error:
        # A failure of one server must not hold up the others.
        LOG.warning('Server %s is not evacuated', uuid, exc_info=True)
        return str(error)
    return None
