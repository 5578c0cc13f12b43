# SPDX-License-Identifier: Apache-2.0
"""Each ``openstack lease`` command in the documentation works."""

import types
from typing import Any

import pytest

from osc_nova_reservations import capacity
from osc_nova_reservations import demand
from osc_nova_reservations import leases
from osc_nova_reservations import limits
from osc_nova_reservations import options
from osc_nova_reservations import resources
from osc_nova_reservations import series
from osc_nova_reservations import sharing
from osc_nova_reservations import usage
from osc_nova_reservations.calendar import command
from osc_nova_reservations.tests import documented

_COMMANDS = {
    'add': sharing.AddProject,
    'calendar': command.ShowCalendar,
    'capacity': capacity.ShowCapacity,
    'create': leases.CreateLease,
    'delete': leases.DeleteLease,
    'demand': demand.ListDemand,
    'limits': limits.ShowLimits,
    'list': leases.ListLease,
    'offer': leases.ListOffer,
    'project': sharing.ListProject,
    'remove': sharing.RemoveProject,
    'series': series.ShowSeries,
    'set': leases.SetLease,
    'show': leases.ShowLease,
    'usage': usage.ShowUsage,
}
_TWO_WORDS = frozenset(
    {
        'add',
        'demand',
        'offer',
        'project',
        'remove',
        'resource',
        'series',
    }
)
_OF_RESOURCES = {
    'create': resources.CreateResource,
    'delete': resources.DeleteResource,
    'list': resources.ListResource,
    'set': resources.SetResource,
    'show': resources.ShowResource,
}
_LEASE = {
    'reservations': [
        {
            'id': 'ab58c4b5-2b0c-4c4a-8a4e-52b7f1e6a1d0',
            'resource_type': 'physical:host',
        }
    ]
}


@pytest.mark.parametrize(
    'words', sorted(set(documented.commands())), ids=' '.join
)
def test_a_documented_command_makes_a_request(words: tuple[str, ...]) -> None:
    called: Any = (
        _OF_RESOURCES[words[1]]
        if words[0] == 'resource'
        else _COMMANDS[words[0]]
    )
    app = types.SimpleNamespace(client_manager=None, options=None)
    parser = called(app, None).get_parser(f'openstack lease {words[0]}')

    # Some names have two words.
    parsed = parser.parse_args(words[2 if words[0] in _TWO_WORDS else 1 :])

    if words[0] == 'offer':
        assert options.offers_body(parsed, 'now', 1)['reservations']
    if words[0] == 'create':
        assert options.create_body(parsed)['reservations']
    if words[0] == 'set':
        assert options.update_body(parsed, _LEASE)
