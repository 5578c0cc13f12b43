# SPDX-License-Identifier: Apache-2.0
"""The leases that somebody may create, and for which projects."""

from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Mapping
import datetime
from typing import Any

from nova.api.openstack import identity

from nova_reservations import exception
from nova_reservations.api import dates
from nova_reservations.api import request as api_request
from nova_reservations.api.schemas import resource_types as type_schemas
from nova_reservations.engine import lease_requests
from nova_reservations.engine import parts
from nova_reservations.engine import resource_types
from nova_reservations.objects import requirements
from nova_reservations.objects import states
from nova_reservations.policies import leases as policies


def project_of(context: Any, asked: str | None) -> str:
    """Return the project that a lease is asked for.

    :param asked: the project that the request names, if it names one
    :raises: PolicyNotAuthorized
    :raises: webob.exc.HTTPBadRequest if keystone says that there is none
    """
    own: str = context.project_id
    if asked in (None, own):
        return own
    context.can(policies.CREATE_ALL_PROJECTS, target={'project_id': asked})
    identity.verify_project_id(context, asked)
    return asked


def check_resource_types(context: Any, names: Iterable[str]) -> None:
    """:param names: of types that are switched on

    :raises: PolicyNotAuthorized
    """
    _check(context, sorted(set(names)))


def check_lease_types(
    context: Any, types: Collection[states.LeaseType]
) -> None:
    """:raises: PolicyNotAuthorized"""
    _check(context, sorted(types))


def _check(context: Any, kinds: Iterable[str]) -> None:
    # As it is for whoever creates: for whom has a rule of its own.
    target = {'project_id': context.project_id}
    for kind in kinds:
        context.can(policies.create_of(kind), target=target)


def check_types(
    context: Any,
    asked: lease_requests.NewLease,
    now: datetime.datetime,
    repeated: bool,
) -> None:
    """:raises: PolicyNotAuthorized, InvalidInput"""
    check_resource_types(
        context, (item.resource_type for item in asked.reservations)
    )
    types = {asked.lease_type or lease_requests.lease_type(asked, now)}
    if repeated and asked.lease_type is None:
        # As the ones after the first are.
        types.add(states.LeaseType.SCHEDULED)
    check_lease_types(context, types)


def end_of(
    body: dict[str, Any], start: datetime.datetime, now: datetime.datetime
) -> datetime.datetime:
    match 'end_date' in body, 'duration' in body:
        case True, False:
            return dates.parse(body['end_date'], now)
        case False, True:
            return dates.after(start, dates.parse_duration(body['duration']))
        case False, False:
            raise exception.InvalidInput(
                'Missing parameter end_date, or duration in its place'
            )
    raise exception.InvalidInput('Give end_date or duration, not both')


def new_reservation(
    req: api_request.LeaseRequest, item: dict[str, Any]
) -> lease_requests.NewReservation:
    """Return what is asked of a new reservation.

    :raises: InvalidInput; PolicyNotAuthorized if it names a cell
    """
    asked = {
        key: value for key, value in item.items() if key != 'resource_type'
    }
    kind = resource_types.get(req.services.leases.types, item['resource_type'])
    if kind.comes_alone:
        raise exception.InvalidInput(
            f'A lease can not ask for a reservation of '
            f'{item["resource_type"]}: it is made along with its resources'
        )
    type_schemas.create(kind).check(asked)
    check_cell(req, asked)
    return lease_requests.NewReservation(item['resource_type'], asked)


def check_cell(
    req: api_request.LeaseRequest, asked: Mapping[str, Any]
) -> None:
    """Refuse who may not know cells, and names one."""
    sources = map(asked.get, ('hypervisor_properties', 'resource_properties'))
    try:
        wanted = requirements.parse(*sources)
    except exception.InvalidInput:
        # The resource type may understand it, or tells why it does not.
        return
    if 'cell' in requirements.keys(wanted):
        req.context.can(policies.CELL)


def review(req: api_request.LeaseRequest) -> parts.Review:
    """Return what refuses parts of reservations that the caller could not ask
    for by themselves."""

    def check(resource_type: str, asked: Mapping[str, Any]) -> None:
        new_reservation(req, {**asked, 'resource_type': resource_type})
        check_resource_types(req.context, [resource_type])

    return check
