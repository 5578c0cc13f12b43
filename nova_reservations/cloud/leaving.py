# SPDX-License-Identifier: Apache-2.0
"""Servers leave their hosts: stopped, deleted, shelved, migrated, copied.

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
from nova.compute import utils
from nova.compute import vm_states
from oslo_log import log

from nova_reservations import exception
from nova_reservations import ports
from nova_reservations.cloud import credentials
from nova_reservations.cloud import images
from nova_reservations.cloud import parallel
from nova_reservations.cloud import records
from nova_reservations.cloud.servers import MOVING

LOG = log.getLogger(__name__)

SHELVING = frozenset(
    {
        task_states.SHELVING,
        task_states.SHELVING_IMAGE_PENDING_UPLOAD,
        task_states.SHELVING_IMAGE_UPLOADING,
        task_states.SHELVING_OFFLOADING,
    }
)

SNAPSHOTTING = frozenset(
    {
        task_states.IMAGE_SNAPSHOT_PENDING,
        task_states.IMAGE_SNAPSHOT,
        task_states.IMAGE_PENDING_UPLOAD,
        task_states.IMAGE_UPLOADING,
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
        return _ask(
            functools.partial(self._shelve, order, _hosts(servers)),
            servers,
            check,
        )

    def migrate_servers(
        self,
        servers: Collection[ports.Server],
        order: ports.Order,
        check: ports.Check,
    ) -> ports.Outcome:
        return _order(
            functools.partial(self._migrate, order, _hosts(servers)),
            servers,
            check,
        )

    def snapshot_servers(
        self,
        servers: Collection[ports.Server],
        order: ports.Order,
        check: ports.Check,
    ) -> ports.Outcome:
        return _order(functools.partial(self._snapshot, order), servers, check)

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

    def _shelve(
        self, order: ports.Order, hosts: Collection[str], uuid: str
    ) -> str | None:
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
            case _ if instance.host not in hosts:
                # It has moved, and holds what it had for a moment more.
                return None
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

    # These may fail for good

    def _migrate(
        self, order: ports.Order, hosts: Collection[str], uuid: str
    ) -> str | None:
        context = credentials.context()
        instance = self._get(context, uuid)
        if instance.vm_state == vm_states.SOFT_DELETED:
            return self._delete(uuid) or 'is being deleted'
        if instance.task_state in MOVING:
            return 'is being migrated'
        if instance.task_state in SHELVING:
            # It has found no place before.
            raise _Failed('it is shelved')
        if refusal := self._busy(context, instance):
            return f'can not be migrated: {refusal}'
        match instance.vm_state:
            case vm_states.RESIZED:
                self._compute.confirm_resize(context, instance)
            case _ if instance.host not in hosts:
                # It has moved, and holds what it had for a moment more.
                return 'is being migrated'
            case vm_states.ACTIVE | vm_states.PAUSED:
                if not records.begin(context, instance, order, 'live'):
                    raise _Failed('it has found no place')
                # Nova chooses host and way.
                self._compute.live_migrate(
                    context, instance, None, None, None, async_=True
                )
            case vm_states.STOPPED:
                if not records.begin(context, instance, order, 'migrate'):
                    raise _Failed('it has found no place')
                self._compute.resize(context, instance)
            case state:
                raise _Failed(f'it is in state {state}')
        return 'is being migrated'

    def _snapshot(self, order: ports.Order, uuid: str) -> str | None:
        context = credentials.context()
        instance = self._get(context, uuid)
        if utils.is_volume_backed_instance(context, instance):
            # Its snapshots would be the service's, in Cinder, where the
            # project can neither use nor delete them.
            raise _Failed('its disk is a volume, which outlives the server')
        begun = not records.begin(context, instance, order, 'snapshot')
        image = self._compute.image_api.find(context, context.request_id)
        if image is not None and not begun:
            # Made by a worker that was killed before it told the host.
            self._compute.image_api.delete(context, image['id'])
            records.end_task(instance, task_states.IMAGE_SNAPSHOT_PENDING)
        elif instance.task_state in SNAPSHOTTING:
            return 'is being made'
        elif image is not None:
            return None if image['status'] == 'active' else 'is being made'
        elif begun:
            raise _Failed('Nova has failed at it')
        if refusal := self._busy(context, instance):
            return refusal
        name = f'reserved_{instance.display_name or uuid}'[:255]
        self._compute.snapshot(
            context, instance, name, {images.ORDER: context.request_id}
        )
        return 'is being made'

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
        return compute_api.API(image_api=images.Images())


def _hosts(servers: Collection[ports.Server]) -> frozenset[str]:
    """Return the hosts that the servers are to leave."""
    return frozenset(server.host for server in servers)


class _Failed(Exception):
    """It is no use to ask again; in words for the owner."""


def _ask(
    function: Callable[[str], str | None],
    servers: Collection[ports.Server],
    check: ports.Check,
) -> dict[str, str]:
    """Call function with each server's UUID; it returns why not.

    :returns: server UUID -> why not, of those for which there is a reason
    """
    outcome = _order(function, servers, check)
    return {**outcome.waiting, **outcome.failed}


def _order(
    function: Callable[[str], str | None],
    servers: Collection[ports.Server],
    check: ports.Check,
) -> ports.Outcome:
    """Call function with each server's UUID; it returns what the server
    waits for, and raises where it is no use to wait.

    One server, and what is wrong with it, must not keep the others.
    """
    waiting, failed = {}, {}

    def ask(uuid: str) -> None:
        check()
        try:
            reason = function(uuid)
        except nova_exception.InstanceNotFound:
            return
        except _Failed as error:
            failed[uuid] = str(error)
        except exception.ReservationsError:
            raise
        except Exception as error:
            LOG.warning('Server %s stays as it is', uuid, exc_info=True)
            failed[uuid] = (
                error.format_message()
                if isinstance(error, nova_exception.NovaException)
                # A compute host that is asked on the way fails in any words.
                else 'Nova failed at it'
            )
        else:
            if reason is not None:
                waiting[uuid] = reason

    # One that is being moved is on two hosts.
    parallel.each(ask, sorted({server.uuid for server in servers}))
    return ports.Outcome(waiting, failed)
