# SPDX-License-Identifier: Apache-2.0
"""Texts for failures of Nova: for the owner of a server, and for
administrators, who read the words of the service that has failed.

Such words may name hosts, and come from any library: Nova, too, shows them to
administrators only.
"""

# Nova's objects get their names only when the process registers them.
from __future__ import annotations

from nova import context as nova_context
from nova import exception as nova_exception
from nova import objects as nova_objects

from nova_reservations import objects
from nova_reservations.cloud.servers import instance_actions

AGAIN = 'Nova has failed at it, and is asked again within a minute'

LONGEST = 300
"""The most characters of one failure: many servers may share one reason."""


def raised(error: Exception) -> objects.Reason:
    """Return the reason for an error that Nova raised when it was asked."""
    if isinstance(error, nova_exception.NovaException) and not any(
        'host' in name or 'node' in name for name in error.kwargs
    ):
        return objects.Reason.plain(str(error.format_message()))
    return _with_words('Nova failed at it', words_of(error))


def unanswered(error: Exception) -> objects.Reason:
    return _with_words(
        'a service that Nova needs does not answer', words_of(error)
    )


def recorded(
    context: nova_context.RequestContext,
    instance: nova_objects.Instance,
    told: str = AGAIN,
) -> objects.Reason:
    """Return the reason for what Nova has recorded of the newest action on the
    server: it has failed at it."""
    event = instance_actions.failed_event(context, instance)
    if event is None:
        return objects.Reason.plain(told)
    where = f'{event.event} on {event.host}' if event.host else event.event
    words = _fault(context, instance, event) or event.details
    return _with_words(told, ': '.join(filter(None, (where, words))))


def words_of(error: Exception) -> str:
    return f'{type(error).__name__}: {error}'


def _fault(
    context: nova_context.RequestContext,
    instance: nova_objects.Instance,
    event: nova_objects.InstanceActionEvent,
) -> str | None:
    """Return the text of the error that has made the event fail.

    Nova records no text with an event, unless the error is one of its own. If
    nova-compute fails, it also records a fault, with the traceback, which ends
    with the text.
    """
    for fault in nova_objects.InstanceFaultList.get_latest_by_instance_uuids(
        context, [instance.uuid]
    ):
        if fault.created_at >= event.start_time:
            return _end_of(fault.details or '')
    return None


def _end_of(traceback: str) -> str:
    """Return what follows the frames, all of which are indented."""
    found: list[str] = []
    for line in reversed(traceback.strip().splitlines()):
        if line.startswith('  '):
            break
        found.append(line)
    return ' '.join(reversed(found))


def _with_words(told: str, words: str) -> objects.Reason:
    line = ' '.join(words.split())
    if len(line) > LONGEST:
        line = f'{line[:LONGEST]} ...'
    return objects.Reason(told, f'{told} ({line})')
