# SPDX-License-Identifier: Apache-2.0
"""``nova-reservations-manage db purge``."""

import json
import sys
from typing import Any

from nova_reservations.cmd import parsers
from nova_reservations.engine import assembly
from nova_reservations.engine.upkeep import purge


def add_parser(group: Any) -> None:
    parser = parsers.command(
        group,
        'purge',
        'delete leases that are over, in batches of whole leases; it may be '
        'stopped and repeated at any time',
        _purge,
    )
    for name, is_required, text in (
        ('before', True, 'those that ended, or were deleted, before this day'),
        (
            'usage-before',
            False,
            'also the record of what was held and used until before this day; '
            'without: all of the record is kept',
        ),
    ):
        parser.add_argument(
            f'--{name}',
            required=is_required,
            type=parsers.day,
            metavar='YYYY-MM-DD',
            help=text,
        )
    parser.add_argument(
        '--dry-run',
        action='store_true',
        help='print what would be deleted, and delete nothing',
    )
    parsers.add_format(parser)


def _purge(services: assembly.Services, arguments: Any) -> int:
    now = services.clock.now()
    for name in ('before', 'usage_before'):
        day = getattr(arguments, name)
        if day is not None and day > now:
            option = name.replace('_', '-')
            print(
                f'--{option} {day:%Y-%m-%d}: a day in the past is wanted',
                file=sys.stderr,
            )
            return 1
    asked = purge.Cutoffs(
        leases=arguments.before,
        records=arguments.usage_before,
        requests=arguments.before,
    )
    act = services.purge.count if arguments.dry_run else services.purge.purge
    done = act(asked)
    if arguments.format == 'json':
        print(
            json.dumps({kind.replace(' ', '_'): done[kind] for kind in done})
        )
        return 0
    verb = 'Would delete' if arguments.dry_run else 'Deleted'
    for kind, count in done.items():
        print(f'{verb} {kind}: {count}')
    return 0
