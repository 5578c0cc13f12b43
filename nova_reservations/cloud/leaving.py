# SPDX-License-Identifier: Apache-2.0
"""Servers leave their hosts: they are stopped, deleted, shelved.

Through Nova's own compute API, in an administrator's context, by which
locked servers are no exception. Nova is asked, and not waited for.
"""

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Mapping
import functools

from nova import context as nova_context
from nova import exception as nova_exception
from nova import objects
from nova.compute import api as compute_api
from nova.compute import task_states
from nova.compute import vm_states
from oslo_log import log

from nova_reservations import exception
from nova_reservations import ports
from nova_reservations.cloud import credentials
from nova_reservations.cloud import parallel
from nova_reservations.cloud import records

LOG = log.getLogger(__name__)

SHELVING = frozenset(
    {
        task_states.SHELVING,
        task_states.SHELVING_IMAGE_PENDING_UPLOAD,
        task_states.SHELVING_IMAGE_UPLOADING,
        task_states.SHELVING_OFFLOADING,
    }
)

CAN_BE_SHELVED = frozenset(
    {
        vm_states.ACTIVE,
        vm_states.STOPPED,
        vm_states.PAUSED,
        vm_states.SUSPENDED,
    }
)


class Leaving:
    def stop_servers(
        self,
        servers: Collection[ports.Server],
        order: ports.Order,
        check: ports.Check,
    ) -> Mapping[str, str]:
        return _ask(functools.partial(self._stop, order), servers, check)

    def delete_servers(
        self, servers: Collection[ports.Server], check: ports.Check
    ) -> Mapping[str, str]:
        return _ask(self._delete, servers, check)

    def shelve_servers(
        self,
        servers: Collection[ports.Server],
        order: ports.Order,
        check: ports.Check,
    ) -> Mapping[str, str]:
        return _ask(functools.partial(self._shelve, order), servers, check)

    def acts_for_projects(self) -> bool:
        return credentials.are_configured()

    # Each of these asks for one server; it returns why Nova will not

    def _stop(self, order: ports.Order, uuid: str) -> str | None:
        context = nova_context.get_admin_context()
        instance = self._get(context, uuid)
        if instance.task_state == task_states.POWERING_OFF:
            return None
        if refusal := self._busy(context, instance):
            return refusal
        if not records.begin(context, instance, order, 'stop'):
            return 'it runs although it was asked to stop'
        self._compute.stop(context, instance)
        return None

    def _delete(self, uuid: str) -> str | None:
        context = nova_context.get_admin_context()
        instance = self._get(context, uuid)
        if instance.disable_terminate:
            # Nova would say nothing, and do nothing.
            return 'its termination is disabled'
        # Not soft_delete, which leaves it on the host.
        self._compute.delete(context, instance)
        return None

    def _shelve(self, order: ports.Order, uuid: str) -> str | None:
        # A server whose shelving begins without a token is stuck in it.
        context = credentials.context()
        instance = self._get(context, uuid)
        if instance.vm_state == vm_states.SOFT_DELETED:
            return self._delete(uuid)
        if instance.task_state in SHELVING and not records.was_lost(
            context, instance, order, 'shelve', task_states.SHELVING
        ):
            return None
        if refusal := self._busy(context, instance):
            return refusal
        match instance.vm_state:
            case vm_states.RESIZED:
                self._compute.confirm_resize(context, instance)
            case vm_states.SHELVED:
                if not records.begin(context, instance, order, 'offload'):
                    return records.FAILED
                self._compute.shelve_offload(context, instance)
            case state if state in CAN_BE_SHELVED:
                if not records.begin(context, instance, order, 'shelve'):
                    return records.FAILED
                self._compute.shelve(context, instance)
            case state:
                return f'it is in state {state}'
        return None

    # What they need

    def _get(
        self, context: nova_context.RequestContext, uuid: str
    ) -> objects.Instance:
        """Return the server, and have the context be of its cell."""
        return self._compute.get(
            context,
            uuid,
            expected_attrs=[
                'flavor',
                'info_cache',
                'metadata',
                'numa_topology',
                'pci_requests',
                'system_metadata',
            ],
        )

    def _busy(
        self,
        context: nova_context.RequestContext,
        instance: objects.Instance,
    ) -> str | None:
        """Return why nothing can be asked of the server now."""
        if instance.task_state is not None:
            return f'it is still {instance.task_state}'
        if not instance.host:
            return 'it has no host yet'
        service = objects.Service.get_by_compute_host(context, instance.host)
        # What is asked of a host that is down is never answered, and the
        # server is stuck with it.
        if not self._compute.servicegroup_api.service_is_up(service):
            return 'its host is down'
        return None

    @functools.cached_property
    def _compute(self) -> compute_api.API:
        return compute_api.API()


def _ask(
    function: Callable[[str], str | None],
    servers: Collection[ports.Server],
    check: ports.Check,
) -> dict[str, str]:
    """Call function with each server's UUID.

    One server, and what is wrong with it, must not keep the others.

    :returns: server UUID -> why not, of those for which there is a reason
    """

    def ask(uuid: str) -> str | None:
        check()
        try:
            return function(uuid)
        except nova_exception.InstanceNotFound:
            return None
        except exception.ReservationsError:
            raise
        except Exception as error:
            LOG.warning('Server %s stays as it is', uuid, exc_info=True)
            if isinstance(error, nova_exception.NovaException):
                return error.format_message()
            # A compute host that is asked on the way fails in any words.
            return 'Nova failed at it'

    # One that is being moved is on two hosts.
    uuids = sorted({server.uuid for server in servers})
    return {
        uuid: why
        for uuid, why in zip(uuids, parallel.each(ask, uuids), strict=True)
        if why is not None
    }
