# SPDX-License-Identifier: Apache-2.0
"""Projects, by ID or by the name that keystone knows."""

from typing import Any

from openstack import exceptions as sdk_exceptions
from osc_lib import exceptions
from osc_lib import utils
from osc_lib.command import command


def asked(caller: command.Command, project: str | None) -> dict[str, str]:
    """Return the parameters by which a request names a project; none if no
    project is given.

    :raises: CommandError
    """
    return {'project_id': find(caller, project)} if project else {}


def find(caller: command.Command, project: str) -> str:
    """Return the ID of the project. An ID is returned without a look-up.

    :raises: CommandError
    """
    if utils.is_uuid_like(project):
        return project
    manager: Any = caller.app.client_manager
    try:
        found = manager.sdk_connection.identity.find_project(
            project, ignore_missing=False
        )
    # If the user may not look projects up, the name must not be sent as an
    # ID: nobody would notice the mistake.
    except sdk_exceptions.SDKException as error:
        raise exceptions.CommandError(
            f'Project {project} can not be looked up, give its ID: {error}'
        ) from error
    return str(found.id)
