# SPDX-License-Identifier: Apache-2.0
"""Actions that take servers off their hosts: stop, delete, shelve, migrate."""

from collections.abc import Collection
from collections.abc import Mapping
import contextlib
import datetime
import functools

from nova import context as nova_context
from nova import exception as nova_exception
from nova import objects as nova_objects
from nova.compute import task_states
from nova.compute import vm_states

from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.cloud import credentials
from nova_reservations.cloud import errors
from nova_reservations.cloud.servers import failures
from nova_reservations.cloud.servers import forgotten
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


class Actions:
    def __init__(
        self, nova: requests.Nova, shelves: forgotten.Shelves
    ) -> None:
        self._nova = nova
        self._shelves = shelves

    @errors.translated()
    def delete_servers(
        self,
        servers: Collection[ports.Server],
        check: ports.Check,
        now: datetime.datetime,
        keep_images: bool = False,
    ) -> Mapping[str, objects.Reason]:
        return requests.reasons(
            requests.each(
                functools.partial(
                    self._delete,
                    clock=requests.running(now),
                    keep_images=keep_images,
                ),
                [
                    server
                    for server in servers
                    if not self._is_under_way(server, now)
                ],
                check,
            )
        )

    def check_acting(self) -> None:
        credentials.context()

    def _is_under_way(
        self, server: ports.Server, now: datetime.datetime
    ) -> bool:
        """Return whether the server is being deleted, so that another request
        would be useless, or do harm.

        Until the guest is gone, Nova would read the whole server and then do
        nothing. After that the host would delete it twice. But ask again if
        the host is down, because the deletion may have to be done without it,
        and after a while, because the host may not have got the message.
        """
        return (
            server.is_being_deleted
            and server.written_at is not None
            and not instance_actions.is_old(server.written_at)
            and self._nova.host_is_up(server.host, now)
        )

    # Each of these acts on one server; it returns why Nova refuses, or None

    def stop(self, request: requests.Request, uuid: str) -> str | None:
        context = nova_context.get_admin_context()
        instance = self._nova.get(context, uuid)
        if instance.task_state == task_states.POWERING_OFF:
            return None
        if refusal := self._nova.busy(instance, request.clock()):
            return refusal
        if not instance_actions.begin(context, instance, request.key, 'stop'):
            return 'it runs although it was asked to stop'
        self._nova.compute_api.stop(context, instance)
        return None

    def _delete(
        self, uuid: str, clock: requests.Clock, keep_images: bool = False
    ) -> requests.Answer:
        context = credentials.context_for_deletions()
        instance = self._nova.get(context, uuid)
        if instance.disable_terminate:
            # Nova would silently ignore the request.
            return 'its termination is disabled'
        # Decision 0057: doc/source/decisions/0057-a-silent-host-is-not-empty
        if instance.host and self._nova.host_is_silent(instance.host, clock()):
            return 'its host is down'
        if instance_actions.deletion_has_just_failed(context, instance):
            return failures.recorded(context, instance)
        instance_actions.end_lost_delete(context, instance)
        # Nova also deletes the image of a shelved server.
        is_on_a_shelf = instance.vm_state in ON_A_SHELF
        keeps_image = is_on_a_shelf and keep_images
        if is_on_a_shelf and not keeps_image and credentials.are_configured():
            context = credentials.context()
            instance = self._nova.get(context, uuid)
        # Not soft_delete, which leaves the server on its host.
        self._nova.deletions(keeps_image).delete(context, instance)
        return None

    def shelve(self, request: requests.Request, uuid: str) -> requests.Answer:
        # A token is needed: without one a server gets stuck while shelving.
        context = credentials.context()
        instance = self._nova.get(context, uuid)
        if instance.vm_state == vm_states.SOFT_DELETED:
            return self._delete(uuid, request.clock)
        if (
            instance.task_state in SHELVING
            and not instance_actions.was_lost(
                context, instance, request.key, 'shelve', task_states.SHELVING
            )
            and not self._shelves.end_task(context, instance, request)
        ):
            return None
        if instance.vm_state == vm_states.SHELVED_OFFLOADED:
            self._shelves.is_off_its_host(context, instance, request)
            return None
        if refusal := self._nova.busy(instance, request.clock()):
            return refusal
        match instance.vm_state:
            case vm_states.RESIZED:
                self._nova.compute_api.confirm_resize(context, instance)
            case _ if instance.host not in request.hosts:
                # The server has moved, and keeps its old allocation for a
                # moment more.
                return None
            case vm_states.RESCUED:
                self._nova.compute_api.unrescue(context, instance)
            case vm_states.SHELVED:
                if not instance_actions.begin(
                    context, instance, request.key, 'offload'
                ):
                    return failures.recorded(context, instance)
                self._nova.compute_api.shelve_offload(context, instance)
            case state if state in CAN_BE_SHELVED:
                if not instance_actions.begin(
                    context, instance, request.key, 'shelve'
                ):
                    return failures.recorded(context, instance)
                self._ask_to_shelve(context, instance)
            case state:
                return f'it is in state {state}'
        return None

    def _ask_to_shelve(
        self,
        context: nova_context.RequestContext,
        instance: nova_objects.Instance,
    ) -> None:
        """Ask Nova to shelve the server; let it be as it was if Nova fails.

        Nova sets the task and records the action before it creates the image.
        If glance refuses that, Nova leaves the task, and records no failure.
        """
        shelves = self._nova.compute_api.shelve
        try:
            shelves(context, instance)
        except requests.UNANSWERED:
            # The message may have been sent.
            raise
        except Exception as error:
            if instance_actions.was_asked(
                context, instance, context.request_id
            ):
                instance_actions.record_failure(
                    context, instance, 'shelve', failures.words_of(error)
                )
                instance_actions.end_task(instance, task_states.SHELVING)
            raise

    def confirm(self, request: requests.Request, uuid: str) -> str | None:
        context = nova_context.get_admin_context()
        instance = self._nova.get(context, uuid)
        if instance.vm_state != vm_states.RESIZED:
            return None
        if refusal := self._nova.busy(instance, request.clock()):
            return refusal
        # While Nova is confirming it, there is no migration to confirm.
        with contextlib.suppress(nova_exception.MigrationNotFoundByStatus):
            self._nova.compute_api.confirm_resize(context, instance)
        return None

    # This one may fail for good

    def migrate(self, request: requests.Request, uuid: str) -> requests.Answer:
        context = credentials.context()
        instance = self._nova.get(context, uuid)
        if instance.vm_state == vm_states.SOFT_DELETED:
            return self._delete(uuid, request.clock) or 'is being deleted'
        if instance.task_state in MOVING:
            return 'is being migrated'
        if instance.task_state in SHELVING:
            # A migration has failed before, so the server is being shelved.
            raise requests.Failed('it is shelved')
        if refusal := self._nova.busy(instance, request.clock()):
            return f'can not be migrated: {refusal}'
        match instance.vm_state:
            case vm_states.RESIZED:
                self._nova.compute_api.confirm_resize(context, instance)
            case _ if instance.host not in request.hosts:
                # The server has moved, and keeps its old allocation for a
                # moment more.
                return 'is being migrated'
            case vm_states.RESCUED:
                self._nova.compute_api.unrescue(context, instance)
            case vm_states.ACTIVE | vm_states.PAUSED:
                if not instance_actions.begin(
                    context, instance, request.key, 'live'
                ):
                    raise requests.Failed('it has found no place')
                # Nova chooses the host, and how the disks are migrated.
                self._nova.compute_api.live_migrate(
                    context, instance, None, None, None, async_=True
                )
            case vm_states.STOPPED:
                if not instance_actions.begin(
                    context, instance, request.key, 'migrate'
                ):
                    raise requests.Failed('it has found no place')
                self._nova.compute_api.resize(context, instance)
            case state:
                raise requests.Failed(f'it is in state {state}')
        return 'is being migrated'
