# SPDX-License-Identifier: Apache-2.0
"""Checks which leases a user may create, and for which projects."""

from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Mapping
import datetime
from typing import Any

from nova.api.openstack import identity

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.api import dates
from nova_reservations.api.request import LeaseRequest
from nova_reservations.api.schemas import resource_types as type_schemas
from nova_reservations.engine.booking import lease_requests
from nova_reservations.engine.booking import parts
from nova_reservations.objects import host_specs
from nova_reservations.objects import requirements
from nova_reservations.objects import states
from nova_reservations.policies import leases as policies


def project_of(context: Any, asked: str | None) -> str:
    """Return the project for which a lease is requested.

    :param asked: the project that the request names, if it names one
    :raises: PolicyNotAuthorized
    :raises: webob.exc.HTTPBadRequest if keystone does not know the project
    """
    own: str = context.project_id
    if asked in (None, own):
        return own
    context.can(policies.CREATE_ALL_PROJECTS, target={'project_id': asked})
    identity.verify_project_id(context, asked)
    return asked


def check_resource_types(context: Any, names: Iterable[str]) -> None:
    """Check that the caller may reserve these types of resource.

    :param names: names of types that are switched on
    :raises: PolicyNotAuthorized
    """
    _check(context, sorted(set(names)))


def check_lease_types(
    context: Any, types: Collection[states.LeaseType]
) -> None:
    """:raises: PolicyNotAuthorized"""
    _check(context, sorted(types))


def _check(context: Any, kinds: Iterable[str]) -> None:
    # The target is the caller's project: another policy rule decides for
    # which other projects it may create leases.
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
        # All leases of the series but the first are scheduled.
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
    req: LeaseRequest, item: dict[str, Any]
) -> lease_requests.NewReservation:
    """Return the request for a new reservation, after checking it.

    :raises: InvalidInput; PolicyNotAuthorized for facts that the caller may
        not ask by
    """
    asked = {
        key: value for key, value in item.items() if key != 'resource_type'
    }
    kind = req.services.means.types.named(item['resource_type'])
    if kind.comes_alone:
        raise exception.InvalidInput(
            f'A lease can not ask for a reservation of '
            f'{item["resource_type"]}: it is made along with its resources'
        )
    type_schemas.create(kind).check(asked)
    asked = type_schemas.given(kind, asked)
    check_facts(req, kind.resource_type or item['resource_type'], asked)
    return lease_requests.NewReservation(item['resource_type'], asked)


def check_facts(
    req: LeaseRequest,
    resource_type: str,
    asked: Mapping[str, Any],
) -> None:
    """Refuse requirements of hosts by facts that the caller may not see: the
    answers would tell them, one comparison after another.

    :param resource_type: the type of the resources that must meet them
    :raises: PolicyNotAuthorized
    """
    if resource_type != objects.HOST:
        return
    sources = map(asked.get, ('hypervisor_properties', 'resource_properties'))
    try:
        wanted = requirements.parse(
            *sources, nova=host_specs.Words(lambda *_: False)
        )
    except exception.InvalidInput:
        # The resource type parses it by its own rules, or refuses it.
        return
    keys = requirements.keys(wanted)
    if 'cell' in keys:
        req.context.can(policies.CELL)
    if keys & requirements.NAMES:
        req.context.can(policies.HOST_NAMES)


def review(req: LeaseRequest) -> parts.Review:
    """Return a check that refuses parts of reservations that the caller could
    not request by themselves."""

    def check(resource_type: str, asked: Mapping[str, Any]) -> None:
        new_reservation(req, {**asked, 'resource_type': resource_type})
        check_resource_types(req.context, [resource_type])

    return check
