# SPDX-License-Identifier: Apache-2.0
"""Nova's instance actions, by which any worker sees what was begun.

Nova records each action on a server with the id of its request. The ids of our
requests are made from the reason of the request. So another worker finds out
what was asked for before, and an operator finds the request in the logs.
"""

# Nova's objects get their names only when the process registers them.
from __future__ import annotations

import datetime
import uuid

from nova import context as nova_context
from nova import objects
from nova.compute import instance_actions
from nova.compute import task_states
from nova.compute import vm_states
from oslo_utils import timeutils

from nova_reservations import ports

RETRY = 60
"""Seconds between a deletion that has failed in Nova and the next one."""

PATIENCE = 120
"""Seconds after which a message that no host has received counts as lost."""

ACTIONS = {
    'shelve': instance_actions.SHELVE,
    'snapshot': instance_actions.CREATE_IMAGE,
    'suspend': instance_actions.SUSPEND,
    'unshelve': instance_actions.UNSHELVE,
}
"""Nova's action names, for those of our verbs that set a task state."""

_NAMESPACE = uuid.UUID('6d1d5f3e-6a0c-4a52-8f3b-3f0b8ad6c1c9')


def begin(
    context: nova_context.RequestContext,
    instance: objects.Instance,
    key: ports.RequestKey,
    verb: str,
) -> bool:
    """Give the context a request id that is made from the key; return False
    if Nova was asked with this id before."""
    context.request_id = request_id(instance.uuid, key, verb)
    return not was_asked(context, instance, context.request_id)


def was_begun(
    context: nova_context.RequestContext,
    instance: objects.Instance,
    key: ports.RequestKey,
    verb: str,
) -> bool:
    """Return whether any worker has asked Nova for the action with the key."""
    return was_asked(context, instance, request_id(instance.uuid, key, verb))


def was_ever_begun(
    context: nova_context.RequestContext,
    instance: objects.Instance,
    key: ports.RequestKey,
    verb: str,
) -> bool:
    """Return whether any worker has asked Nova for the action with the key, in
    any attempt."""
    ours = _prefix(request_id(instance.uuid, key, verb))
    return any(
        _prefix(action.request_id or '') == ours
        for action in objects.InstanceActionList.get_by_instance_uuid(
            context, instance.uuid
        )
    )


LOST = datetime.timedelta(seconds=60)
"""The longest time from the task state of a move to its migration record."""


def is_lost(
    context: nova_context.RequestContext,
    instance: objects.Instance,
    now: datetime.datetime,
) -> bool:
    """Return whether a server waits for ever to be moved.

    Nova sets the task state, and then sends the message to the service that
    creates the migration. If a worker was killed between the two, there will
    never be a migration.
    """
    under_way = objects.MigrationList.get_in_progress_by_instance(
        context, instance.uuid
    )
    since = instance.updated_at
    return not under_way and since is not None and now - since > LOST


def was_lost(
    context: nova_context.RequestContext,
    instance: objects.Instance,
    key: ports.RequestKey,
    verb: str,
    task: str,
) -> bool:
    """Return whether the server is stuck in the task state; if so, reset it.

    Nova sets the task state, records the action, and then sends the message to
    the host. A worker that is killed before that leaves the server stuck. Then
    its newest action is ours and has no events for a while, or there is no
    action of ours for longer than recording it takes.
    """
    if instance.task_state != task:
        return False
    action = newest(context, instance)
    if action is None:
        lost = _was_left(instance)
    else:
        lost = False
        events = _events(context, action)
        is_ours = _prefix(action.request_id or '') == _prefix(
            request_id(instance.uuid, key, verb)
        )
        if is_ours and not events:
            # The message of this attempt, or of the one right before it, may
            # still be under way.
            lost = _attempt(action.request_id) + 1 < key.attempt or _was_left(
                instance
            )
        elif action.action != ACTIONS[verb] or _failed_at(events):
            # The newest action is an earlier one.
            lost = _was_left(instance)
    if lost:
        end_task(instance, task)
    return lost


def has_rested(
    context: nova_context.RequestContext,
    instance: objects.Instance,
    key: ports.RequestKey,
    verb: str,
    timeout: int,
) -> bool:
    """Return whether Nova has recorded nothing of the server for so long that
    what it does with it may have been forgotten.

    That is for the timeout, in seconds, and for half of the time since it was
    asked first for this reason. So a host that is only slow gets few more
    requests, each of which waits there for the one before.
    """
    since = instance.updated_at
    if since is None or not timeutils.is_older_than(since, timeout):
        return False
    ours = _prefix(request_id(instance.uuid, key, verb))
    first = min(
        (
            action.start_time
            for action in objects.InstanceActionList.get_by_instance_uuid(
                context, instance.uuid
            )
            if _prefix(action.request_id or '') == ours
        ),
        default=since,
    )
    asked_for = (since - first).total_seconds()
    return bool(timeutils.is_older_than(since, asked_for))


def end_lost_delete(
    context: nova_context.RequestContext, instance: objects.Instance
) -> None:
    """Reset the task state of a server that is stuck in its deletion.

    In this task state Nova ignores further requests to delete the server. Nova
    sets it first, and then sends the message, which is lost if the worker or
    the broker is killed. If the host is down, Nova deletes the server itself.
    Placement may make that fail, and the host may be up at the next request.
    """
    if instance.task_state != task_states.DELETING or not _was_left(instance):
        return
    action = newest(context, instance)
    if not (
        action is not None
        and action.action == instance_actions.DELETE
        and _events(context, action)
    ):
        end_task(instance, task_states.DELETING)


def deletion_has_just_failed(
    context: nova_context.RequestContext, instance: objects.Instance
) -> bool:
    """Return whether a deletion of the server, by anybody, has just failed.

    This happens if Neutron does not answer: the host gives up after a while,
    and the server has no task state any more, but is in state ERROR.
    """
    if instance.task_state or instance.vm_state != vm_states.ERROR:
        return False
    action = newest(context, instance)
    return (
        action is not None
        and action.action == instance_actions.DELETE
        and not timeutils.is_older_than(action.start_time, RETRY)
        and _failed_at(_events(context, action)) is not None
    )


def was_asked(
    context: nova_context.RequestContext,
    instance: objects.Instance,
    identifier: str,
) -> bool:
    """Return whether Nova has recorded an action with this request id."""
    return (
        objects.InstanceAction.get_by_request_id(
            context, instance.uuid, identifier
        )
        is not None
    )


def failed_event(
    context: nova_context.RequestContext, instance: objects.Instance
) -> objects.InstanceActionEvent | None:
    """Return the event at which the newest action on the server has failed;
    None if it has not failed."""
    action = newest(context, instance)
    return None if action is None else _failed_at(_events(context, action))


def newest(
    context: nova_context.RequestContext, instance: objects.Instance
) -> objects.InstanceAction | None:
    """Return the newest action on the server, whoever has asked for it."""
    found = objects.InstanceActionList.get_by_instance_uuid(
        context, instance.uuid, limit=1
    )
    return next(iter(found), None)


def _events(
    context: nova_context.RequestContext, action: objects.InstanceAction
) -> list[objects.InstanceActionEvent]:
    return list(
        objects.InstanceActionEventList.get_by_action(context, action.id)
    )


def _failed_at(
    events: list[objects.InstanceActionEvent],
) -> objects.InstanceActionEvent | None:
    return next((event for event in events if event.result == 'Error'), None)


def _was_left(instance: objects.Instance) -> bool:
    """Return whether the record of the server has not changed for a while."""
    return is_old(instance.updated_at or instance.created_at)


def is_old(written_at: datetime.datetime) -> bool:
    return bool(timeutils.is_older_than(written_at, PATIENCE))


def is_under_way(
    context: nova_context.RequestContext, action: objects.InstanceAction
) -> bool:
    """Return whether a service is at work on the action."""
    return any(event.result is None for event in _events(context, action))


def record_failure(
    context: nova_context.RequestContext,
    instance: objects.Instance,
    event: str,
    words: str,
) -> None:
    """Record that the action of this context has failed before any service
    got it, as a service records it."""
    objects.InstanceActionEvent.event_start(
        context, instance.uuid, event, want_result=False
    )
    objects.InstanceActionEvent.event_finish_with_failure(
        context,
        instance.uuid,
        event,
        exc_val=words,
        exc_tb=words,
        want_result=False,
    )


def end_task(instance: objects.Instance, task: str) -> None:
    """Reset the server's task state, if it is this one."""
    if instance.task_state == task:
        instance.task_state = None
        instance.save(expected_task_state=[task])


def request_id(server: str, key: ports.RequestKey, verb: str) -> str:
    """Return the request id for a key; its last part is the attempt."""
    name = str(uuid.uuid5(_NAMESPACE, f'{key.reason} {server} {verb}'))
    return f'req-{_prefix(name)}-{key.attempt:012x}'


def _prefix(identifier: str) -> str:
    return identifier.rpartition('-')[0].removeprefix('req-')


def _attempt(identifier: str) -> int:
    return int(identifier.rpartition('-')[2], 16)
