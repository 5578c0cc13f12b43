# SPDX-License-Identifier: Apache-2.0
"""The command ``openstack lease limits``, or ``lease limits show``, as Nova's
is called."""

import argparse
from collections.abc import Iterator
from collections.abc import Sequence
from typing import Any

from osc_lib.command import command

from osc_nova_reservations import api
from osc_nova_reservations import base
from osc_nova_reservations import names

_COUNTED = {
    'Open leases': ('maxOpenLeases', 'openLeasesUsed'),
    'Waiting leases': ('maxWaitingLeases', 'waitingLeasesUsed'),
    'Hosts at any instant': ('maxReservedHosts', 'reservedHostsUsed'),
    'Slots at any instant': ('maxReservedSlots', 'reservedSlotsUsed'),
    'Host hours from now on': ('maxHostHours', 'hostHoursUsed'),
}
_TERMS = {
    'Seconds that a lease may last': 'maxLeaseDuration',
    'Last seconds in which it may be prolonged': 'reservationExtensionWindow',
    'Seconds until its start': 'maxStartAhead',
}


class ShowLimits(base.Told, command.Lister):
    """Show the limits of a project, and what it has of them; -1: no limit"""

    example = 'openstack lease limits show'

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            '--project',
            metavar='<project>',
            help='Those of this project, by name or ID (administrators)',
        )
        return parser

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[Sequence[str], Iterator[tuple[Any, ...]]]:
        name = parsed_args.project
        found = api.client_of(self).limits(
            **({'project_id': names.Names(self).project(name)} if name else {})
        )
        return ('Limit', 'Allowed', 'Used'), _rows(found['absolute'])


def _rows(limits: dict[str, Any]) -> Iterator[tuple[Any, ...]]:
    for name, (most, used) in _COUNTED.items():
        yield name, limits[most], limits[used]
    # An older service does not send these.
    held = limits.get('reservedResourcesUsed', {})
    for name, number in sorted(held.items()):
        most = limits['maxReservedResources'][name]
        yield f'{name} at any instant', most, number
    for name, most in _TERMS.items():
        yield name, limits[most], ''
