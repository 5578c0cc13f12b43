# SPDX-License-Identifier: Apache-2.0
"""Queries for messages that are to be sent, and their writes, with the indexes
that they need. Most of the messages are for a destination that is silent."""

from collections.abc import Iterator
from typing import Any

from nova_reservations import objects
from nova_reservations.db.leases import messages
from nova_reservations.objects import states
from nova_reservations.tests import booking
from nova_reservations.tests.functional.db import listed

OFTEN = {
    'messages that are due': listed.Often(
        lambda session: messages.find(session, booking.at(9), 50),
        frozenset({'ix_nr_messages_due'}),
    ),
    'messages that are due for others': listed.Often(
        lambda session: messages.find(session, booking.at(9), 50, ['silent']),
        frozenset({'ix_nr_messages_due'}),
    ),
    'a message': listed.Often(
        # It uses the primary key, which PostgreSQL names differently.
        lambda session: messages.get(session, listed.lease_id(7), 0)
    ),
}

_DUE = messages.Due(listed.lease_id(7), 0, 'silent')

WRITES = [
    lambda session: messages.write(session, [message(7)], booking.NOW),
    lambda session: messages.claim(session, _DUE, booking.NOW),
    lambda session: messages.put_off(session, _DUE.id, 0, booking.NOW, 'why'),
    lambda session: messages.remove(session, _DUE.id, 0),
    lambda session: messages.set_untold(
        session, [listed.lease_id(7)], 'why', booking.NOW
    ),
]


def message(number: int, destination: str = 'silent') -> objects.Message:
    return objects.Message(
        listed.lease_id(number),
        listed.lease_id(number),
        listed.lease_id(number),
        'email',
        destination,
        'a body',
        states.EventType.BEFORE_END,
        booking.NOW,
        booking.NOW,
        None,
    )


def rows() -> Iterator[dict[str, Any]]:
    for number in range(listed.LEASES):
        yield {
            'id': listed.lease_id(number),
            'lease_id': listed.lease_id(number),
            'reservation_id': listed.lease_id(number),
            'action': 'email',
            'destination': 'silent' if number % 40 else 'other',
            'body': 'a body',
            'event_type': states.EventType.BEFORE_END,
            'event_time': booking.NOW,
            'end_date': booking.NOW,
            'due_at': booking.at(number % 200),
            'attempt': 0,
        }
