# SPDX-License-Identifier: Apache-2.0
"""Commands ``openstack lease add project``, ``remove project``,
``project list``."""

import argparse
from collections.abc import Sequence
from typing import Any

from keystoneauth1 import adapter
from osc_lib import exceptions
from osc_lib.command import command

from osc_nova_reservations import api
from osc_nova_reservations import options
from osc_nova_reservations import projects


class AddProject(command.Command):
    """Share a reservation of a lease with another project

    Its servers land in the reservation by naming it, and leave at the end.
    """

    action = 'addProjectAccess'

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        options.add_lease(parser)
        parser.add_argument(
            'project', metavar='<project>', help='Project, by name or ID'
        )
        parser.add_argument(
            '--reservation',
            metavar='<reservation-id>',
            help='The one of the lease, if it has several',
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        client = api.client_of(self)
        lease = api.find(client, parsed_args.lease)
        asked = {
            'reservation_id': parsed_args.reservation or _only(lease),
            'project': projects.find(self, parsed_args.project),
        }
        path = f'/leases/{lease["id"]}/action'
        api.request(client, 'POST', path, {self.action: asked})


class RemoveProject(AddProject):
    """Share a reservation of a lease with a project no more

    Servers of the project that are there stay until the end.
    """

    action = 'removeProjectAccess'


class ListProject(command.Lister):
    """List the projects that reservations of a lease are shared with"""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        options.add_lease(parser)
        return parser

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[Sequence[str], Sequence[Sequence[Any]]]:
        client = api.client_of(self)
        lease = api.find(client, parsed_args.lease)
        return ('Reservation', 'Project'), _accesses(client, lease)


def _accesses(
    client: adapter.Adapter, lease: dict[str, Any]
) -> tuple[tuple[str, str], ...]:
    path = f'/leases/{lease["id"]}/project-access'
    found = api.request(client, 'GET', path)['project_access']
    return tuple(
        (each['reservation_id'], each['project_id']) for each in found
    )


def _only(lease: dict[str, Any]) -> str:
    """:raises: CommandError unless the lease has exactly one reservation"""
    ids = [each['id'] for each in lease['reservations']]
    if len(ids) != 1:
        raise exceptions.CommandError(
            f'The lease has {len(ids)} reservations: give --reservation'
        )
    return str(ids[0])
