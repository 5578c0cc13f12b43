# SPDX-License-Identifier: Apache-2.0
"""Leases as events of an iCalendar file (RFC 5545)."""

from collections.abc import Iterable
from collections.abc import Mapping
import datetime
from typing import Any
import unicodedata

import icalendar

from osc_nova_reservations import reserved
from osc_nova_reservations.calendar import source

_NAME = 'Leases'
_REFRESH = datetime.timedelta(hours=1)

_STATUSES = {
    'CREATING': 'TENTATIVE',
    'IN_PROGRESS': 'TENTATIVE',
    'ERROR': 'CANCELLED',
    'TIMEDOUT': 'CANCELLED',
}
"""Of leases that got nothing, yet or at all; all others are CONFIRMED."""


def of(leases: Iterable[Mapping[str, Any]]) -> bytes:
    """Return a file with an event for each lease.

    The file depends on nothing but the leases, so it changes only if one of
    them does.

    :param leases: as the API shows them
    """
    calendar = icalendar.Calendar()
    calendar.add('prodid', '-//nova-reservations//openstack lease//EN')
    calendar.add('version', '2.0')
    calendar.add('name', _NAME)
    # What programs look for that are older than RFC 7986.
    calendar.add('x-wr-calname', _NAME)
    calendar.add('refresh-interval', _REFRESH, {'VALUE': 'DURATION'})
    for lease in leases:
        calendar.add_component(_event(lease))
    content: bytes = calendar.to_ical()
    return content


def _event(lease: Mapping[str, Any]) -> icalendar.Event:
    created = source.date_of(lease['created_at'])
    updated = lease['updated_at']
    changed = source.date_of(updated) if updated else created
    event = icalendar.Event()
    event.add('uid', f'{lease["id"]}@nova-reservations')
    event.add('summary', _text(lease['name']))
    event.add('dtstart', source.date_of(lease['start_date']))
    event.add('dtend', source.date_of(lease['end_date']))
    event.add('description', _description(lease))
    event.add('status', _STATUSES.get(lease['status'], 'CONFIRMED'))
    event.add('categories', _categories(lease))
    event.add('created', created)
    event.add('last-modified', changed)
    # In a file that is published this is the same (RFC 5545, 3.8.7.2).
    event.add('dtstamp', changed)
    # It grows with each change, and fits 32 bits for 68 years.
    event.add('sequence', int((changed - created).total_seconds()))
    # A lease does not keep people busy.
    event.add('transp', 'TRANSPARENT')
    return event


def _description(lease: Mapping[str, Any]) -> str:
    lines = (
        f'Reserved: {reserved.of_lease(dict(lease))}',
        f'Status: {lease["status"]}',
        f'Project: {lease["project_id"]}',
    )
    return '\n'.join(_text(line) for line in lines)


def _categories(lease: Mapping[str, Any]) -> list[str]:
    """Return the types of what is reserved, without those of parts."""
    types = (
        each['resource_type']
        for each in lease['reservations']
        if not each.get('part_of')
    )
    return [_text(each) for each in dict.fromkeys(types)]


def _text(text: str) -> str:
    """Return the text without the characters that the format has no place
    for: controls other than the ends of lines, and halves of pairs."""
    return ''.join(
        '\ufffd'
        if sign not in '\n\t' and unicodedata.category(sign) in ('Cc', 'Cs')
        else sign
        for sign in text
    )
