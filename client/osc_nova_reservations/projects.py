# SPDX-License-Identifier: Apache-2.0
"""Projects, by ID or by the name that keystone knows."""

from typing import Any

from openstack import exceptions as sdk_exceptions
from osc_lib import exceptions
from osc_lib import utils
from osc_lib.command import command


def asked(caller: command.Command, project: str | None) -> dict[str, str]:
    """Return what a request says of the project that it is about, which may
    be none.

    :raises: CommandError
    """
    return {'project_id': find(caller, project)} if project else {}


def find(caller: command.Command, project: str) -> str:
    """Return the ID of the project; what is an ID is not looked up.

    :raises: CommandError
    """
    if utils.is_uuid_like(project):
        return project
    manager: Any = caller.app.client_manager
    try:
        found = manager.sdk_connection.identity.find_project(
            project, ignore_missing=False
        )
    # Whoever may not look for projects must not give a name in place of an
    # ID: nobody would notice.
    except sdk_exceptions.SDKException as error:
        raise exceptions.CommandError(
            f'Project {project} can not be looked up, give its ID: {error}'
        ) from error
    return str(found.id)
