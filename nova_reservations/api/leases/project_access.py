# SPDX-License-Identifier: Apache-2.0
"""Access of other projects to shared reservations.

Decision 0042: doc/source/decisions/0042-shared-by-name
"""

from collections.abc import Collection
from collections.abc import Mapping
import time
from typing import Any

from nova.api.openstack import identity

from nova_reservations import exception
from nova_reservations.api.action import served
from nova_reservations.api.leases import leases
from nova_reservations.api.leases import series
from nova_reservations.api.request import LeaseRequest
from nova_reservations.api.schemas import project_access as schemas
from nova_reservations.policies import leases as policies

_ADD = 'addProjectAccess'

_LONGEST = 30.0
"""Seconds after which no more projects are verified: half of the limit of one
call, so that a request waits for one silent call, and for no second one."""


@served(response=schemas.INDEX_RESPONSE, refusals=(404,))
def index(req: LeaseRequest, lease_id: str) -> dict[str, Any]:
    lease = leases.visible(req, lease_id)
    req.check(policies.ACCESS_INDEX, lease.project_id)
    return _shown(req.services.sharing.of(lease))


@served(
    body=schemas.ACTION, response=schemas.INDEX_RESPONSE, refusals=(404, 409)
)
def action(
    req: LeaseRequest, lease_id: str, body: dict[str, Any]
) -> dict[str, Any]:
    lease = leases.visible(req, lease_id)
    [(name, asked)] = body.items()
    if ('project' in asked) == ('projects' in asked):
        raise exception.InvalidInput('Give project or projects: one of both')
    projects = asked.get('projects') or [asked['project']]
    _check(req, name, lease.project_id, projects)
    service = req.services.sharing
    if asked.keys() == {'project', 'reservation_id'}:
        # As Nova does it for flavors, it is refused if nothing is to be done.
        one = service.add if name == _ADD else service.remove
        return _shown(
            one(lease_id, asked['reservation_id'], projects[0], req.now())
        )
    change = service.add_all if name == _ADD else service.remove_all
    change([lease], projects, req.now(), asked.get('reservation_id'))
    return _shown(service.of(lease))


@served(
    body=schemas.SERIES_ACTION,
    response=schemas.INDEX_RESPONSE,
    refusals=(404, 409),
)
def series_action(
    req: LeaseRequest, series_id: str, body: dict[str, Any]
) -> dict[str, Any]:
    found = series.visible(req, series_id)
    [(name, asked)] = body.items()
    _check(req, name, found[0].project_id, asked['projects'])
    service = req.services.sharing
    change = service.add_all if name == _ADD else service.remove_all
    change(found, asked['projects'], req.now())
    return _shown(service.of(*found))


def _check(
    req: LeaseRequest, name: str, owner: str, projects: Collection[str]
) -> None:
    """:raises: PolicyNotAuthorized, CloudUnavailable
    :raises: webob.exc.HTTPBadRequest if keystone does not know a project
    """
    if name == _ADD:
        req.check(policies.ACCESS_ADD, owner)
        _verify(req, projects)
    else:
        # The projects are not verified: they may be deleted in keystone.
        req.check(policies.ACCESS_REMOVE, owner)


def _verify(req: LeaseRequest, projects: Collection[str]) -> None:
    """Nova takes a project for known if keystone does not answer; it would
    wait as long for each of the next ones.

    :raises: CloudUnavailable if there is no time left for some of them
    :raises: webob.exc.HTTPBadRequest if keystone does not know a project
    """
    until = time.monotonic() + _LONGEST
    for project_id in projects:
        if time.monotonic() >= until:
            raise exception.CloudUnavailable(
                service='Keystone',
                reason=f'after {_LONGEST:.0f} s, project {project_id} and '
                'those after it were not verified',
            )
        identity.verify_project_id(req.context, project_id)


def _shown(found: Mapping[str, Collection[str]]) -> dict[str, Any]:
    return {
        'project_access': [
            {'reservation_id': reservation_id, 'project_id': project_id}
            for reservation_id, projects in found.items()
            for project_id in projects
        ]
    }
