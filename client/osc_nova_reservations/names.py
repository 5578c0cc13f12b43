# SPDX-License-Identifier: Apache-2.0
"""Names of what other services have: projects, flavors, networks."""

from collections.abc import Iterable
from typing import Any

from openstack import exceptions as sdk_exceptions
from osc_lib import exceptions
from osc_lib.command import command

from osc_nova_reservations.sdk import proxy


class Names:
    """The names that a caller may look up, with its own token."""

    def __init__(self, caller: command.Command) -> None:
        manager: Any = caller.app.client_manager
        self._manager = manager

    def project(self, name: str) -> str:
        """Return the ID of a project. An ID is returned without a look-up.

        :raises: CommandError
        """
        if proxy.is_id(name):
            return name
        identity = self._manager.sdk_connection.identity
        try:
            return str(identity.find_project(name, ignore_missing=False).id)
        except sdk_exceptions.ForbiddenException:
            # Members may look up the projects that they are in themselves.
            found = [key for key, own in self._own().items() if own == name]
        except sdk_exceptions.NotFoundException:
            found = []
        if len(found) != 1:
            # The name must not be sent as an ID: nobody would notice the
            # mistake.
            raise exceptions.CommandError(
                f'You see no project {name}: give its ID, which its members '
                'see by "openstack token issue -c project_id"'
            )
        return found[0]

    def flavor(self, name: str) -> str:
        """:raises: CommandError"""
        compute = self._manager.sdk_connection.compute
        return _id(
            compute.find_flavor,
            'Flavor',
            name,
            '"openstack flavor list" shows those there are',
        )

    def network(self, name: str) -> str:
        """:raises: CommandError"""
        if proxy.is_id(name):
            return name
        network = self._manager.sdk_connection.network
        return _id(
            network.find_network,
            'Network',
            name,
            '"openstack network list --external" shows those that have '
            'floating IPs',
        )

    def of_projects(self, ids: Iterable[str]) -> dict[str, str]:
        """Return the names of projects by their IDs, of those that the
        caller may know."""
        wanted = {*ids}
        own = self._manager.auth_ref
        # A token of the administrator's own, without keystone, has none.
        found = {own.project_id: own.project_name} if own else {}
        if own is None or wanted <= found.keys():
            return found
        identity = self._manager.sdk_connection.identity
        try:
            return found | {each.id: each.name for each in identity.projects()}
        except sdk_exceptions.ForbiddenException:
            # Only administrators know all projects: the others stay IDs.
            return found | self._own()

    def _own(self) -> dict[str, str]:
        """Return the projects that the user is in."""
        identity = self._manager.sdk_connection.identity
        user = self._manager.auth_ref.user_id
        return {each.id: each.name for each in identity.user_projects(user)}


def _id(find: Any, what: str, name: str, hint: str) -> str:
    """:raises: CommandError"""
    try:
        return str(find(name, ignore_missing=False).id)
    except sdk_exceptions.NotFoundException as error:
        raise exceptions.CommandError(
            f'There is no {what.lower()} {name}: {hint}'
        ) from error
    except sdk_exceptions.SDKException as error:
        raise exceptions.CommandError(
            f'{what} {name} can not be looked up, {hint}: {error}'
        ) from error
