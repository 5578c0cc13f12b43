# SPDX-License-Identifier: Apache-2.0
"""What was begun with a server, by Nova's own records of it.

Nova writes down each action on a server with the id of the request that
asked for it. Ours say in that id why they were asked for, so that whoever
comes next finds out what there was, and an operator finds it in the logs.
"""

import uuid

from nova import context as nova_context
from nova import objects

from nova_reservations import ports

FAILED = 'Nova has failed at it, and is asked again within a minute'

_NAMESPACE = uuid.UUID('6d1d5f3e-6a0c-4a52-8f3b-3f0b8ad6c1c9')


def begin(
    context: nova_context.RequestContext,
    instance: objects.Instance,
    order: ports.Order,
    verb: str,
) -> bool:
    """Have what is asked with this context bear the order's name; False if
    it was asked before."""
    context.request_id = request_id(instance.uuid, order, verb)
    return (
        objects.InstanceAction.get_by_request_id(
            context, instance.uuid, context.request_id
        )
        is None
    )


def was_lost(
    context: nova_context.RequestContext,
    instance: objects.Instance,
    order: ports.Order,
    verb: str,
    task: str,
) -> bool:
    """Whether the server waits for ever in the task; end that, if so.

    Nova sets a server's task, writes down the action, and then sends it to
    the host. A worker that is killed before that leaves the server in its
    task: an action of ours, of an earlier attempt than this one, that no
    host has begun with.
    """
    if instance.task_state != task:
        return False
    newest = objects.InstanceActionList.get_by_instance_uuid(
        context, instance.uuid, limit=1
    )
    ours = [
        action
        for action in newest
        if _prefix(action.request_id or '')
        == _prefix(request_id(instance.uuid, order, verb))
        and _attempt(action.request_id) < order.attempt
        and not objects.InstanceActionEventList.get_by_action(
            context, action.id
        )
    ]
    if ours:
        end_task(instance, task)
    return bool(ours)


def end_task(instance: objects.Instance, task: str) -> None:
    """Have the server be in no task, if it is in this one."""
    if instance.task_state == task:
        instance.task_state = None
        instance.save(expected_task_state=[task])


def request_id(server: str, order: ports.Order, verb: str) -> str:
    """Return the id of the request; its last part is the attempt."""
    name = str(uuid.uuid5(_NAMESPACE, f'{order.reason} {server} {verb}'))
    return f'req-{_prefix(name)}-{order.attempt:012x}'


def _prefix(identifier: str) -> str:
    return identifier.rpartition('-')[0].removeprefix('req-')


def _attempt(identifier: str) -> int:
    return int(identifier.rpartition('-')[2], 16)
