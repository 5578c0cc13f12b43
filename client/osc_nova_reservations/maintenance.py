# SPDX-License-Identifier: Apache-2.0
"""Commands ``openstack lease host cordon``, ``uncordon``, ``drain`` and
``maintain``, of administrators."""

import argparse
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any
from typing import ClassVar

from osc_lib.command import command

from osc_nova_reservations import api
from osc_nova_reservations import base
from osc_nova_reservations import dates
from osc_nova_reservations import hosts
from osc_nova_reservations import names

_COLUMNS = {
    'id': 'Lease',
    'project_id': 'Project',
    'status': 'Status',
    'start_date': 'Start',
    'end_date': 'End',
    'leaving': 'Leaving',
    'reason': 'Stays because',
}
_SHORT = ('id', 'end_date', 'reason')


class _Act(base.Timed, command.Lister):
    """:cvar action: the name of the action in the API."""

    action: ClassVar[str]

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        hosts.add_host(parser)
        base.add_long(parser)
        return parser

    def body(
        self, parsed_args: argparse.Namespace, clock: dates.Clock
    ) -> dict[str, str] | None:
        return None

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[Sequence[str], list[tuple[Any, ...]]]:
        clock = self.clock(parsed_args)
        client = api.client_of(self)
        host_id = hosts.find(client, parsed_args.host)
        found = client.host_action(
            host_id, self.action, self.body(parsed_args, clock)
        )
        if found.get('lease_id'):
            lease = client.get_lease(found['lease_id'])
            start, end = (
                clock.shown(dates.parsed(str(date)))
                for date in (lease.start_date, lease.end_date)
            )
            self.app.stderr.write(
                f'It is lease {lease.name}, {start} to {end} ({clock.zone})\n'
            )
        for server in found.get('servers', ()):
            self.app.stderr.write(f'Server {server} is on it\n')
        known = names.Names(self).of_projects(
            lease['project_id'] for lease in found['leases']
        )
        base.say_zone(self, clock, parsed_args)
        columns = base.columns(_COLUMNS, _SHORT, parsed_args)
        return [*columns.values()], [
            tuple(_cell(lease, key, clock, known) for key in columns)
            for lease in found['leases']
        ]


def _cell(
    lease: Mapping[str, Any],
    key: str,
    clock: dates.Clock,
    known: Mapping[str, str],
) -> Any:
    if key in ('start_date', 'end_date'):
        return dates.Column(lease[key], clock)
    if key == 'project_id':
        return known.get(lease[key], lease[key])
    return '' if lease[key] is None else lease[key]


class CordonHost(_Act):
    """Give a host to no new lease, and list those that have it still"""

    example = 'openstack lease host cordon compute-1'
    action = 'cordon'


class UncordonHost(_Act):
    """Let new leases have a host again, and list those that have it"""

    example = 'openstack lease host uncordon compute-1'
    action = 'uncordon'


class DrainHost(_Act):
    """Cordon a host, give others to its leases, and list those still there"""

    example = 'openstack lease host drain compute-1 --servers migrate'
    action = 'drain'

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            '--servers',
            choices=('migrate', 'list'),
            default='list',
            help='migrate: move servers of its leases to their other hosts, '
            'live if they run, also those that could not be moved before',
        )
        return parser

    def body(
        self, parsed_args: argparse.Namespace, clock: dates.Clock
    ) -> dict[str, str] | None:
        return {'servers': parsed_args.servers}


class MaintainHost(_Act):
    """Keep a host without leases in a window, which is a lease itself"""

    example = (
        'openstack lease host maintain compute-1 --start "tomorrow 22:00" '
        '--duration 90m'
    )
    action = 'maintain'

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            '--start',
            '--from',
            default=dates.NOW,
            metavar='<time>',
            help=f'Begin of the window: {dates.HELP} (default: now)',
        )
        end = parser.add_mutually_exclusive_group(required=True)
        end.add_argument(
            '--end', '--until', metavar='<time>', help='End of the window'
        )
        end.add_argument(
            '--duration',
            type=dates.duration,
            metavar='<duration>',
            help=f'Length of the window: {dates.DURATION_HELP}',
        )
        return parser

    def body(
        self, parsed_args: argparse.Namespace, clock: dates.Clock
    ) -> dict[str, str]:
        start = clock.moment(parsed_args.start)
        later = clock.after(start)
        if parsed_args.end:
            until = later.sent(parsed_args.end)
        else:
            until = later.later(parsed_args.duration).isoformat()
        return {'from': clock.sent(parsed_args.start), 'until': until}
