# SPDX-License-Identifier: Apache-2.0
"""Requests to snapshot, save, suspend and unshelve servers."""

from nova import context as nova_context
from nova import objects
from nova.compute import task_states
from nova.compute import utils
from nova.compute import vm_states

from nova_reservations import ports
from nova_reservations.cloud import credentials
from nova_reservations.cloud.servers import actions
from nova_reservations.cloud.servers import failures
from nova_reservations.cloud.servers import forgotten
from nova_reservations.cloud.servers import images
from nova_reservations.cloud.servers import instance_actions
from nova_reservations.cloud.servers import requests

SNAPSHOTTING = frozenset(
    {
        task_states.IMAGE_SNAPSHOT_PENDING,
        task_states.IMAGE_SNAPSHOT,
        task_states.IMAGE_PENDING_UPLOAD,
        task_states.IMAGE_UPLOADING,
    }
)

AT_REST = actions.ON_A_SHELF | {
    vm_states.SUSPENDED,
    vm_states.STOPPED,
    vm_states.SOFT_DELETED,
}
"""States of a server that does not run, so it need not be suspended."""

NOT_TO_BE_COPIED = frozenset({vm_states.SHELVED_OFFLOADED, vm_states.ERROR})
"""States in which Nova refuses a snapshot. A server in such a state may have
no host, so it is not waited for."""


class Shelving:
    """Each method acts on one server; it returns what the server waits for."""

    def __init__(
        self, nova: requests.Nova, shelves: forgotten.Shelves
    ) -> None:
        self._nova = nova
        self._shelves = shelves

    def snapshot(
        self, request: requests.Request, uuid: str
    ) -> requests.Answer:
        context = credentials.context()
        instance = self._nova.get(context, uuid)
        if utils.is_volume_backed_instance(context, instance):
            # Cinder would give its snapshots to the project of the service
            # user, where the server's project can neither use nor delete
            # them.
            raise requests.Failed(
                'its disk is a volume, which outlives the server'
            )
        first = instance_actions.request_id(
            uuid, ports.RequestKey(request.key.reason), 'snapshot'
        )
        image = self._nova.compute_api.image_api.find(context, first)
        if (
            image is None
            and instance.task_state is None
            and instance.vm_state in NOT_TO_BE_COPIED
        ):
            raise requests.Failed(f'it is in state {instance.vm_state}')
        pending = task_states.IMAGE_SNAPSHOT_PENDING
        lost = instance_actions.was_lost(
            context, instance, request.key, 'snapshot', pending
        )
        begun = not instance_actions.begin(
            context, instance, request.key, 'snapshot'
        )
        if image is not None and (
            lost
            or not instance_actions.was_asked(
                context, instance, image['properties'][images.REQUEST]
            )
        ):
            # A worker has created the image, and was killed before it sent
            # the request to the host.
            self._nova.compute_api.image_api.delete(context, image['id'])
            instance_actions.end_task(instance, pending)
        elif instance.task_state in SNAPSHOTTING:
            return 'is being made'
        elif image is not None:
            return None if image['status'] == 'active' else 'is being made'
        elif begun:
            raise requests.Failed(
                failures.recorded(context, instance, 'Nova has failed at it')
            )
        if refusal := self._nova.busy(instance, request.clock()):
            return refusal
        name = f'reserved_{instance.display_name or uuid}'[:255]
        self._nova.compute_api.snapshot(
            context,
            instance,
            name,
            {images.ORDER: first, images.REQUEST: context.request_id},
        )
        return 'is being made'

    def save(self, request: requests.Request, uuid: str) -> requests.Answer:
        context = credentials.context()
        instance = self._nova.get(context, uuid)
        if instance.vm_state == vm_states.SOFT_DELETED:
            # Its user has deleted it, so nothing of it is saved.
            return None
        if instance.vm_state == vm_states.BUILDING:
            return 'is being built'
        if instance.vm_state == vm_states.ERROR and not instance.launched_at:
            # It could not be built.
            return None
        if utils.is_volume_backed_instance(context, instance):
            _keep_volumes(context, instance)
            return None
        if instance.task_state is None:
            if instance.vm_state in actions.ON_A_SHELF:
                return None
            if instance.vm_state == vm_states.RESIZED:
                self._nova.compute_api.confirm_resize(context, instance)
                return 'is being made'
            if instance.vm_state == vm_states.RESCUED:
                self._nova.compute_api.unrescue(context, instance)
                return 'is being made'
        return self.snapshot(request, uuid)

    def suspend(self, request: requests.Request, uuid: str) -> requests.Answer:
        context = nova_context.get_admin_context()
        instance = self._nova.get(context, uuid)
        if (
            instance.task_state == task_states.SUSPENDING
            and not instance_actions.was_lost(
                context,
                instance,
                request.key,
                'suspend',
                task_states.SUSPENDING,
            )
        ):
            return 'is being suspended'
        if instance.task_state is None and instance.vm_state in AT_REST:
            return None
        if refusal := self._nova.busy(instance, request.clock()):
            return refusal
        match instance.vm_state:
            case vm_states.RESIZED:
                self._nova.compute_api.confirm_resize(context, instance)
            case vm_states.PAUSED:
                # A paused server occupies memory of the host. It can be
                # suspended only while it runs.
                self._nova.compute_api.unpause(context, instance)
            case vm_states.RESCUED:
                self._nova.compute_api.unrescue(context, instance)
            case vm_states.ACTIVE:
                if not instance_actions.begin(
                    context, instance, request.key, 'suspend'
                ):
                    return failures.recorded(context, instance)
                self._nova.compute_api.suspend(context, instance)
            case state:
                raise requests.Failed(f'it is in state {state}')
        return 'is being suspended'

    def unshelve(self, request: requests.Request, uuid: str) -> str | None:
        context = credentials.context()
        instance = self._nova.get(context, uuid)
        if instance.vm_state == vm_states.ERROR:
            raise requests.Failed('it is in state error')
        for verb, task in (
            ('shelve', task_states.SHELVING),
            ('unshelve', task_states.UNSHELVING),
        ):
            instance_actions.was_lost(
                context, instance, request.key, verb, task
            )
        if instance.task_state is not None:
            return f'it is still {instance.task_state}'
        if instance.vm_state not in actions.ON_A_SHELF:
            return None
        if (
            instance.vm_state == vm_states.SHELVED_OFFLOADED
            and not self._shelves.is_off_its_host(context, instance, request)
        ):
            # What happens to it there must not happen after the server was
            # unshelved to another host.
            return 'it is still leaving its host'
        if not instance_actions.begin(
            context, instance, request.key, 'unshelve'
        ):
            failed = instance_actions.failed_event(context, instance)
            if failed is not None and failed.event == 'schedule_instances':
                raise requests.Failed('no host has room for it')
            raise requests.Failed(
                failures.recorded(context, instance, 'Nova has failed at it')
            )
        # The server counts towards the quota of its own project, not that of
        # the service user.
        context.project_id = instance.project_id
        context.user_id = instance.user_id
        self._nova.compute_api.unshelve(context, instance)
        return 'is being unshelved'


def _keep_volumes(
    context: nova_context.RequestContext, instance: objects.Instance
) -> None:
    """Make the volumes outlive the server, as its images do."""
    for mapping in objects.BlockDeviceMappingList.get_by_instance_uuid(
        context, instance.uuid
    ):
        if mapping.is_volume and mapping.delete_on_termination:
            mapping.delete_on_termination = False
            mapping.save()
