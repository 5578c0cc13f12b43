# SPDX-License-Identifier: Apache-2.0
"""The terms of all leases: how long they may last, how far ahead they may
start, and when they may be prolonged."""

import datetime

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.engine import settings


def check_new(
    lease: objects.Lease, options: settings.Settings, now: datetime.datetime
) -> None:
    """:raises: OverLimit"""
    _check_start(lease, options, now)
    most = _longest(lease, options)
    if most is not None:
        _check_duration(lease.end_date - lease.start_date, most)


def check_changed(
    seen: objects.Lease,
    lease: objects.Lease,
    options: settings.Settings,
    now: datetime.datetime,
) -> None:
    """Check the terms of a changed lease; shortening a lease is always
    allowed.

    :raises: OverLimit
    """
    if lease.start_date > seen.start_date:
        _check_start(lease, options, now)
    longer = lease.end_date - lease.start_date
    if longer <= seen.end_date - seen.start_date or _is_exempt(lease, options):
        return
    begins = lease.start_date
    window = options.reservation_extension_window
    if window is not None and seen.is_used:
        begins = seen.latest_end or seen.end_date
        opens = begins - window
        if now < opens:
            which = (
                'its end'
                if begins == seen.end_date
                else 'the latest end that it has had'
            )
            raise exception.OverLimit(
                reason='the lease can be prolonged from '
                f'{opens:%Y-%m-%d %H:%M} on, {_said(window)} before {which}'
            )
    if options.max_lease_duration is not None:
        _check_duration(lease.end_date - begins, options.max_lease_duration)


def latest_end(
    seen: objects.Lease, lease: objects.Lease
) -> datetime.datetime | None:
    """Return the latest end that a lease has had since it began, with that of
    a change; None: it has not begun.

    Whoever shortens a lease gets no right to prolong it sooner.
    """
    if not seen.is_used:
        return None
    return max(seen.latest_end or seen.end_date, lease.end_date)


def _check_start(
    lease: objects.Lease, options: settings.Settings, now: datetime.datetime
) -> None:
    last = last_start(options, now)
    if last is not None and lease.start_date > last:
        assert options.max_start_ahead is not None
        raise exception.OverLimit(
            reason=f'a start at {lease.start_date:%Y-%m-%d %H:%M}, '
            f'{last:%Y-%m-%d %H:%M} is the last that is allowed now, '
            f'{_said(options.max_start_ahead)} ahead'
        )


def last_start(
    options: settings.Settings, now: datetime.datetime
) -> datetime.datetime | None:
    """Return the last time at which a lease may start; None: any."""
    if options.max_start_ahead is None:
        return None
    return now + options.max_start_ahead


def _longest(
    lease: objects.Lease, options: settings.Settings
) -> datetime.timedelta | None:
    return None if _is_exempt(lease, options) else options.max_lease_duration


def _is_exempt(lease: objects.Lease, options: settings.Settings) -> bool:
    return lease.project_id in options.max_lease_duration_exempt_project_ids


def _check_duration(
    duration: datetime.timedelta, most: datetime.timedelta
) -> None:
    if duration > most:
        raise exception.OverLimit(
            reason=f'a duration of {_said(duration)}, {_said(most)} allowed '
            'for this project'
        )


def _said(duration: datetime.timedelta) -> str:
    """Return a duration in the largest unit of which it is a multiple."""
    seconds = int(duration.total_seconds())
    for size, one, many in (
        (86400, 'day', 'days'),
        (3600, 'hour', 'hours'),
        (60, 'minute', 'minutes'),
    ):
        if seconds and seconds % size == 0:
            return objects.plural(seconds // size, one, many)
    return objects.plural(seconds, 'second', 'seconds')
