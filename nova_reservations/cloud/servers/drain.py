# SPDX-License-Identifier: Apache-2.0
"""Draining of hosts: servers are moved off them for leases."""

from collections.abc import Collection
from collections.abc import Mapping
import functools

from nova import context as nova_context
from nova import exception as nova_exception
from nova import objects as nova_objects
from nova.compute import vm_states
from oslo_log import log

from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.cloud import credentials
from nova_reservations.cloud.servers import failures
from nova_reservations.cloud.servers import instance_actions
from nova_reservations.cloud.servers import requests
from nova_reservations.cloud.servers.find import MOVING

LOG = log.getLogger(__name__)

LIVE = 'drain live'
COLD = 'drain cold'


class Drain:
    def __init__(self, nova: requests.Nova) -> None:
        self._nova = nova

    def drain_servers(
        self, servers: Collection[ports.Server], order: ports.Order
    ) -> ports.Outcome:
        hosts = frozenset(server.host for server in servers)
        drain = functools.partial(self._drain, order, hosts)
        return requests.each(drain, servers, order.check)

    def settle_servers(
        self, servers: Collection[ports.Server], order: ports.Order
    ) -> Mapping[str, objects.Reason]:
        settle = functools.partial(self._settle, order)
        return requests.each(settle, servers, order.check).waiting

    def _drain(
        self, order: ports.Order, hosts: Collection[str], uuid: str
    ) -> str | None:
        """Move a server, unless another action on it is under way."""
        context = credentials.context()
        instance = self._nova.get(context, uuid)
        if waiting := self._end_of(context, instance, order):
            return waiting
        if instance.task_state in MOVING:
            return 'is being moved by others'
        if instance.vm_state == vm_states.RESIZED:
            raise requests.Failed('its resize is not confirmed')
        if instance.host not in hosts:
            # The server has moved, and keeps its old allocation for a moment
            # more.
            return 'is being moved'
        if instance.vm_state not in ports.MOVABLE:
            raise requests.Failed(f'it is in state {instance.vm_state}')
        if refusal := self._nova.busy(instance, order.now):
            return refusal
        if any(
            instance_actions.was_begun(context, instance, order.key, verb)
            for verb in (LIVE, COLD)
        ):
            raise requests.Failed(
                failures.recorded(
                    context, instance, 'Nova has failed to move it'
                )
            )
        if instance.vm_state == vm_states.STOPPED:
            instance_actions.begin(context, instance, order.key, COLD)
            self._nova.compute_api.resize(context, instance)
        else:
            instance_actions.begin(context, instance, order.key, LIVE)
            self._nova.compute_api.live_migrate(
                context, instance, None, None, None, async_=True
            )
        return 'is being moved'

    def _settle(self, order: ports.Order, uuid: str) -> str | None:
        context = credentials.context()
        instance = self._nova.get(context, uuid)
        return self._end_of(context, instance, order)

    def _end_of(
        self,
        context: nova_context.RequestContext,
        instance: nova_objects.Instance,
        order: ports.Order,
    ) -> str | None:
        """Finish a move of ours; return what the server waits for, None if
        nothing."""
        is_resized = instance.vm_state == vm_states.RESIZED
        if not is_resized and instance.task_state not in MOVING:
            return None
        # All attempts count, not only the one of the key: an operator may
        # have asked again since the move was begun.
        begun = [
            verb
            for verb in (LIVE, COLD)
            if instance_actions.was_ever_begun(
                context, instance, order.key, verb
            )
        ]
        if not begun:
            return None
        if is_resized and COLD in begun:
            if instance.task_state is not None:
                return f'it is still {instance.task_state}'
            try:
                self._nova.compute_api.confirm_resize(context, instance)
            except nova_exception.MigrationNotFoundByStatus:
                LOG.debug('The move of server %s ends', instance.uuid)
            return 'is being moved'
        if instance.task_state in MOVING:
            if instance_actions.is_lost(context, instance, order.now):
                instance_actions.end_task(instance, instance.task_state)
                return None
            return 'is being moved'
        return None
