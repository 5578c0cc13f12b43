# SPDX-License-Identifier: Apache-2.0
"""Shelves that nova-compute was killed at, and does not go on with when it
starts again.

The record of a server does not tell a nova-compute that has forgotten it from
one that is slow. So nothing is done until the record has not changed for long,
and nothing on a host that is not heard.
"""

from nova import context as nova_context
from nova import objects as nova_objects
from nova.compute import instance_actions as nova_actions
from nova.compute import vm_states
from oslo_config import cfg
from oslo_log import log

from nova_reservations.cloud.servers import instance_actions
from nova_reservations.cloud.servers import requests

LOG = log.getLogger(__name__)


class Shelves:
    def __init__(self, nova: requests.Nova, conf: cfg.ConfigOpts) -> None:
        self._nova = nova
        self._conf = conf

    def end_task(
        self,
        context: nova_context.RequestContext,
        instance: nova_objects.Instance,
        request: requests.Request,
    ) -> bool:
        """Return whether the host seems to have forgotten that it shelves the
        server, or takes it down; if so, end the task.

        A host that is only slow is not disturbed. It shelves the server once
        more when it is done with the first request, and fails at it: Nova
        lets the first request finish also in the task state of the second.
        """
        if not self._seems_forgotten(context, instance, request):
            return False
        instance_actions.end_task(instance, instance.task_state)
        return True

    def is_off_its_host(
        self,
        context: nova_context.RequestContext,
        instance: nova_objects.Instance,
        request: requests.Request,
    ) -> bool:
        """Return whether nothing on the host is about to change a server that
        is shelved and offloaded. If the host has forgotten to, record that the
        server has left it.

        Nova sets this state when the guest and its allocation are gone, and a
        moment later clears the host.
        """
        if not instance.host:
            return not self._is_offloaded_twice(context, instance, request)
        if not self._seems_forgotten(context, instance, request):
            return False
        LOG.warning(
            'Server %(server)s has left host %(host)s, which has forgotten to '
            'record it',
            {'server': instance.uuid, 'host': instance.host},
        )
        instance.host = instance.node = instance.compute_id = None
        # Since it was read it may have been unshelved, and be elsewhere.
        instance.save(
            expected_vm_state=[vm_states.SHELVED_OFFLOADED],
            expected_task_state=[None],
        )
        return True

    def _is_offloaded_twice(
        self,
        context: nova_context.RequestContext,
        instance: nova_objects.Instance,
        request: requests.Request,
    ) -> bool:
        """Return whether a request of ours is still at work on the old host.

        Where the host was only slow, its first request has offloaded the
        server, and the second unbinds its ports and deletes its allocation
        once more. It would take them from a server that is back already.
        """
        action = instance_actions.newest(context, instance)
        return (
            action is not None
            and action.action == nova_actions.SHELVE_OFFLOAD
            and instance_actions.is_under_way(context, action)
            and not self._has_rested(context, instance, request)
        )

    def _seems_forgotten(
        self,
        context: nova_context.RequestContext,
        instance: nova_objects.Instance,
        request: requests.Request,
    ) -> bool:
        return self._has_rested(
            context, instance, request
        ) and self._nova.host_is_up(instance.host, request.clock())

    def _has_rested(
        self,
        context: nova_context.RequestContext,
        instance: nova_objects.Instance,
        request: requests.Request,
    ) -> bool:
        return instance_actions.has_rested(
            context,
            instance,
            request.key,
            'shelve',
            self._conf.reservations.end_timeout,
        )
