# SPDX-License-Identifier: Apache-2.0
"""Commands ``openstack lease add project``, ``remove project``,
``project list``."""

import argparse
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

from osc_lib.command import command

from osc_nova_reservations import api
from osc_nova_reservations import base
from osc_nova_reservations import leases
from osc_nova_reservations import names


class AddProject(base.Told):
    """Share a lease with other projects

    Their servers land in it by its ID, which "openstack lease list --shared"
    shows them, in --hint reservation=ID, and leave at the end.
    """

    example = 'openstack lease add project workshop group-1 group-2'

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        leases.add_lease(parser)
        add_projects(parser)
        parser.add_argument(
            '--reservation',
            metavar='<reservation-id>',
            help='Only this reservation of the lease (default: all)',
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        self.share(api.client_of(self).share_lease, parsed_args)

    def share(self, change: Any, args: argparse.Namespace) -> None:
        known = names.Names(self)
        change(
            api.find(api.client_of(self), args.lease),
            named(args, known),
            args.reservation,
        )


class RemoveProject(AddProject):
    """Share a lease with projects no more

    Servers of the projects that are there stay until the end.
    """

    example = 'openstack lease remove project workshop group-2'

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        self.share(api.client_of(self).unshare_lease, parsed_args)


class ListProject(base.Told, command.Lister):
    """List the projects that a lease is shared with"""

    example = 'openstack lease project list workshop'

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        leases.add_lease(parser)
        return parser

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[Sequence[str], Any]:
        client = api.client_of(self)
        lease = api.find(client, parsed_args.lease)
        return rows(client.lease_projects(lease), names.Names(self))


def rows(
    accesses: Sequence[Mapping[str, str]], known: names.Names
) -> tuple[Sequence[str], Any]:
    """Return the columns and rows of projects that have access."""
    projects = known.of_projects(each['project_id'] for each in accesses)
    return ('Project', 'Reservation'), [
        (
            projects.get(each['project_id'], each['project_id']),
            each['reservation_id'],
        )
        for each in accesses
    ]


def add_projects(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        'projects',
        nargs='+',
        metavar='<project>',
        help='Project, by name or ID; several may be given',
    )


def named(args: argparse.Namespace, known: names.Names) -> list[str]:
    """Return the IDs of the projects, which may also have commas between.

    :raises: CommandError
    """
    return [
        known.project(name)
        for words in args.projects
        for name in words.split(',')
        if name
    ]
