# SPDX-License-Identifier: Apache-2.0
"""Option ``--wait``: until a lease is active, and what it waits for."""

import argparse
from typing import Any

from openstack import exceptions as sdk_exceptions
from osc_lib import exceptions
from osc_lib.command import command

from osc_nova_reservations import dates
from osc_nova_reservations.sdk import lease as sdk_lease
from osc_nova_reservations.sdk import proxy

_INTERVAL = 2


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        '--wait',
        action='store_true',
        help='Wait until the lease is active, and say what it waits for',
    )
    parser.add_argument(
        '--timeout',
        type=dates.duration,
        metavar='<duration>',
        help=f'With --wait, how long at most: {dates.DURATION_HELP} (default: '
        'as long as it takes)',
    )


def wait(
    caller: command.Command,
    client: proxy.Proxy,
    lease: sdk_lease.Lease,
    clock: dates.Clock,
    args: argparse.Namespace,
) -> sdk_lease.Lease:
    """Return the lease when it is active.

    :raises: CommandError if it will not be, or not in time
    """
    said: list[str] = []

    def say(_: Any = None) -> None:
        words = _words(lease, clock)
        if words not in said[-1:]:
            said.append(words)
            caller.app.stderr.write(f'{words}\n')

    say()
    try:
        return client.wait_for_lease(
            lease,
            interval=_INTERVAL,
            wait=args.timeout.total_seconds() if args.timeout else None,
            callback=say,
        )
    except sdk_exceptions.ResourceFailure as error:
        raise exceptions.CommandError(_words(lease, clock)) from error
    except sdk_exceptions.ResourceTimeout as error:
        raise exceptions.CommandError(
            f'{_words(lease, clock)}: not active in time. It is not deleted: '
            f'"openstack lease show {lease.name}" shows it'
        ) from error


def _words(lease: sdk_lease.Lease, clock: dates.Clock) -> str:
    """Return the status of a lease, and what it waits for."""
    words = f'{lease.name}: {lease.status}'
    if lease.queue_position:
        words += f', number {lease.queue_position} of those that wait for room'
    if lease.status == 'PENDING':
        start = dates.parsed(str(lease.start_date))
        words += f', starts {clock.shown(start)} ({clock.zone})'
    return words + (f': {lease.status_reason}' if lease.status_reason else '')
