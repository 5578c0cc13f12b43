# SPDX-License-Identifier: Apache-2.0
"""Each ``openstack lease`` command in the documentation, and each example of
``--help``, works."""

import datetime
from importlib import metadata
import pathlib
import shlex
import types
from typing import Any
import zoneinfo

import pytest

from osc_nova_reservations import base
from osc_nova_reservations import change
from osc_nova_reservations import create
from osc_nova_reservations import dates
from osc_nova_reservations import series
from osc_nova_reservations.tests import documented

COMMANDS = {
    tuple(entry.name.split('_')[1:]): entry.load()
    for entry in metadata.entry_points(group='openstack.lease.v1')
}
CLOCK = dates.Clock(
    zoneinfo.ZoneInfo('Europe/Rome'),
    datetime.datetime(2027, 3, 1, 8, tzinfo=datetime.UTC),
)
LEASE = {
    'start_date': '2027-03-02T09:00:00',
    'end_date': '2027-03-02T19:00:00',
    'reservations': [
        {
            'id': 'ab58c4b5-2b0c-4c4a-8a4e-52b7f1e6a1d0',
            'resource_type': 'physical:host',
        },
        {
            'id': 'ab58c4b5-2b0c-4c4a-8a4e-52b7f1e6a1d1',
            'resource_type': 'flavor:instance',
            'amount': 3,
        },
    ],
}


class Known:
    """Whatever is named, there is."""

    project = flavor = network = staticmethod(lambda name: f'id of {name}')


def parsed(words: tuple[str, ...]) -> tuple[Any, Any]:
    """Return the class of a command, and its options."""
    for length in range(len(words), 0, -1):
        found = COMMANDS.get(words[:length])
        if found is not None:
            app = types.SimpleNamespace(client_manager=None, options=None)
            parser = found(app, None).get_parser('openstack lease')
            return found, parser.parse_args(words[length:])
    raise AssertionError(f'there is no command {" ".join(words)}')


@pytest.mark.parametrize(
    'words', sorted(set(documented.commands())), ids=' '.join
)
def test_a_documented_command_makes_a_request(
    words: tuple[str, ...],
    tmp_path: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    for word in words:
        if word.endswith('.yaml'):
            pathlib.Path(word).write_text('heat_template_version: 2021-04-16')

    check(words)


@pytest.mark.parametrize('words', COMMANDS, ids=' '.join)
def test_commands_have_examples_that_work(
    words: tuple[str, ...],
) -> None:
    command = COMMANDS[words]
    assert issubclass(command, base.Told)
    typed = shlex.split(command.example)
    assert typed[:2] == ['openstack', 'lease']
    assert check(tuple(typed[2:])) is command
    for text in (command.__doc__, command.example):
        assert text


def check(words: tuple[str, ...]) -> Any:
    """Make the request of a command; return the command."""
    command, args = parsed(words)
    known: Any = Known()
    if command is create.ListOffer:
        assert create.offers_of(args, CLOCK, known)['reservations']
    if command is create.CreateLease:
        assert create.body_of(args, CLOCK, known)['reservations']
    if command is change.SetLease:
        assert change.body_of(args, LEASE, CLOCK)
    if command is series.SetSeries:
        assert change.changes(args, LEASE)
    return command
