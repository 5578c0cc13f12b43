# SPDX-License-Identifier: Apache-2.0
"""Names of what other services have: projects, flavors, networks."""

from collections.abc import Iterable
from typing import Any

from openstack import exceptions as sdk_exceptions
from osc_lib import exceptions
from osc_lib import utils
from osc_lib.command import command


class Names:
    """The names that a caller may look up, with its own token."""

    def __init__(self, caller: command.Command) -> None:
        manager: Any = caller.app.client_manager
        self._manager = manager

    def project(self, name: str) -> str:
        """Return the ID of a project. An ID is returned without a look-up.

        :raises: CommandError
        """
        if utils.is_uuid_like(name):
            return name
        identity = self._manager.sdk_connection.identity
        # If the user may not look projects up, the name must not be sent as
        # an ID: nobody would notice the mistake.
        return _id(identity.find_project, 'Project', name, 'give its ID')

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
        if utils.is_uuid_like(name):
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
        except sdk_exceptions.SDKException:
            # Only administrators know other projects: they stay IDs.
            return found


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
