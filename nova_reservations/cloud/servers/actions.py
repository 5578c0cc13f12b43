# SPDX-License-Identifier: Apache-2.0
"""Servers leave their hosts: stopped, deleted, shelved, migrated."""

from collections.abc import Collection
from collections.abc import Mapping
import functools

from nova import context as nova_context
from nova.compute import api as compute_api
from nova.compute import task_states
from nova.compute import vm_states

from nova_reservations import ports
from nova_reservations.cloud import credentials
from nova_reservations.cloud import errors
from nova_reservations.cloud.servers import images
from nova_reservations.cloud.servers import instance_actions
from nova_reservations.cloud.servers import requests
from nova_reservations.cloud.servers.find import MOVING

SHELVING = frozenset(
    {
        task_states.SHELVING,
        task_states.SHELVING_IMAGE_PENDING_UPLOAD,
        task_states.SHELVING_IMAGE_UPLOADING,
        task_states.SHELVING_OFFLOADING,
    }
)

ON_A_SHELF = frozenset({vm_states.SHELVED, vm_states.SHELVED_OFFLOADED})

CAN_BE_SHELVED = frozenset(
    {
        vm_states.ACTIVE,
        vm_states.STOPPED,
        vm_states.PAUSED,
        vm_states.SUSPENDED,
    }
)


class Acting(requests.Requests):
    def stop_servers(
        self,
        servers: Collection[ports.Server],
        key: ports.RequestKey,
        check: ports.Check,
    ) -> Mapping[str, str]:
        return requests.ask(functools.partial(self._stop, key), servers, check)

    @errors.translated()
    def delete_servers(
        self,
        servers: Collection[ports.Server],
        check: ports.Check,
        keep_images: bool = False,
    ) -> Mapping[str, str]:
        return requests.ask(
            functools.partial(self._delete, keep_images=keep_images),
            [each for each in servers if not self._is_under_way(each)],
            check,
        )

    def shelve_servers(
        self,
        servers: Collection[ports.Server],
        key: ports.RequestKey,
        check: ports.Check,
    ) -> Mapping[str, str]:
        return requests.ask(
            functools.partial(self._shelve, key, _hosts(servers)),
            servers,
            check,
        )

    def migrate_servers(
        self,
        servers: Collection[ports.Server],
        key: ports.RequestKey,
        check: ports.Check,
    ) -> ports.Outcome:
        return requests.each(
            functools.partial(self._migrate, key, _hosts(servers)),
            servers,
            check,
        )

    def acts_for_projects(self) -> bool:
        return credentials.are_configured()

    def check_acting(self) -> None:
        credentials.context()

    def _is_under_way(self, server: ports.Server) -> bool:
        """Whether its deletion is, and to ask again is no use, or harm.

        Before the guest is gone Nova would look at all of the server, and do
        nothing; after that the host would delete it twice. Where the host is
        down Nova would not wait for it any longer; and after a while it is
        worth to find out whether it knows.
        """
        return (
            server.is_being_deleted
            and server.written_at is not None
            and not instance_actions.is_old(server.written_at)
            and self._host_is_up(server.host)
        )

    # Each of these asks for one server; it returns why Nova will not

    def _stop(self, key: ports.RequestKey, uuid: str) -> str | None:
        context = nova_context.get_admin_context()
        instance = self._get(context, uuid)
        if instance.task_state == task_states.POWERING_OFF:
            return None
        if refusal := self._busy(instance):
            return refusal
        if not instance_actions.begin(context, instance, key, 'stop'):
            return 'it runs although it was asked to stop'
        self._compute.stop(context, instance)
        return None

    def _delete(self, uuid: str, keep_images: bool = False) -> str | None:
        context = credentials.context_for_deletions()
        instance = self._get(context, uuid)
        if instance.disable_terminate:
            # Nova would say nothing, and do nothing.
            return 'its termination is disabled'
        instance_actions.end_lost_delete(context, instance)
        compute = self._compute
        if instance.vm_state in ON_A_SHELF:
            # Nova deletes the image of it, too.
            if keep_images:
                compute = self._compute_keeping_images
            elif credentials.are_configured():
                context = credentials.context()
                instance = self._get(context, uuid)
        # Not soft_delete, which leaves it on the host.
        compute.delete(context, instance)
        return None

    def _shelve(
        self, key: ports.RequestKey, hosts: Collection[str], uuid: str
    ) -> str | None:
        # A server whose shelving begins without a token is stuck in it.
        context = credentials.context()
        instance = self._get(context, uuid)
        if instance.vm_state == vm_states.SOFT_DELETED:
            return self._delete(uuid)
        if instance.task_state in SHELVING and not instance_actions.was_lost(
            context, instance, key, 'shelve', task_states.SHELVING
        ):
            return None
        if refusal := self._busy(instance):
            return refusal
        match instance.vm_state:
            case vm_states.RESIZED:
                self._compute.confirm_resize(context, instance)
            case _ if instance.host not in hosts:
                # It has moved, and holds what it had for a moment more.
                return None
            case vm_states.RESCUED:
                self._compute.unrescue(context, instance)
            case vm_states.SHELVED:
                if not instance_actions.begin(
                    context, instance, key, 'offload'
                ):
                    return instance_actions.FAILED
                self._compute.shelve_offload(context, instance)
            case state if state in CAN_BE_SHELVED:
                if not instance_actions.begin(
                    context, instance, key, 'shelve'
                ):
                    return instance_actions.FAILED
                self._compute.shelve(context, instance)
            case state:
                return f'it is in state {state}'
        return None

    @functools.cached_property
    def _compute_keeping_images(self) -> compute_api.API:
        return compute_api.API(image_api=images.Kept())

    # These may fail for good

    def _migrate(
        self, key: ports.RequestKey, hosts: Collection[str], uuid: str
    ) -> str | None:
        context = credentials.context()
        instance = self._get(context, uuid)
        if instance.vm_state == vm_states.SOFT_DELETED:
            return self._delete(uuid) or 'is being deleted'
        if instance.task_state in MOVING:
            return 'is being migrated'
        if instance.task_state in SHELVING:
            # It has found no place before.
            raise requests.Failed('it is shelved')
        if refusal := self._busy(instance):
            return f'can not be migrated: {refusal}'
        match instance.vm_state:
            case vm_states.RESIZED:
                self._compute.confirm_resize(context, instance)
            case _ if instance.host not in hosts:
                # It has moved, and holds what it had for a moment more.
                return 'is being migrated'
            case vm_states.RESCUED:
                self._compute.unrescue(context, instance)
            case vm_states.ACTIVE | vm_states.PAUSED:
                if not instance_actions.begin(context, instance, key, 'live'):
                    raise requests.Failed('it has found no place')
                # Nova chooses host and way.
                self._compute.live_migrate(
                    context, instance, None, None, None, async_=True
                )
            case vm_states.STOPPED:
                if not instance_actions.begin(
                    context, instance, key, 'migrate'
                ):
                    raise requests.Failed('it has found no place')
                self._compute.resize(context, instance)
            case state:
                raise requests.Failed(f'it is in state {state}')
        return 'is being migrated'


def _hosts(servers: Collection[ports.Server]) -> frozenset[str]:
    """Return the hosts that the servers are to leave."""
    return frozenset(server.host for server in servers)
