# SPDX-License-Identifier: Apache-2.0
"""The default lease of servers that ask for none, in a cloud where each server
must have a lease.

It is like a lease by the hint ``lease_params``. Servers in a reservation have
a lease already, so they get no default lease.
"""

import datetime
from typing import Any

from oslo_config import cfg

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.api import dates
from nova_reservations.api import validation
from nova_reservations.api.schemas import parameters
from nova_reservations.api.servers import scheduler_hints
from nova_reservations.engine.booking import lease_requests
from nova_reservations.engine.leases import access

_UNNAMED = 'server'
_NAME = validation.Schema(parameters.LEASE_NAME)

_ANY_TIME = datetime.datetime(2000, 1, 1, tzinfo=datetime.UTC)
"""A time for dates.parse(), when only the format of a date is checked."""


def check(conf: cfg.ConfigOpts) -> None:
    """Check that the configured default lease is possible.

    :raises: ImpossibleDefaults
    """
    group = conf.reservations
    if not group.default_reservation:
        return
    if objects.SERVER not in group.resource_types:
        raise exception.ImpossibleDefaults(
            '[reservations] default_reservation needs '
            f'{objects.SERVER} in resource_types'
        )
    if not _length(group):
        raise exception.ImpossibleDefaults(
            '[reservations] reservation_length_days, reservation_length_hours '
            'and reservation_length_minutes are all 0: default_reservation '
            'needs a length'
        )
    try:
        dates.parse(group.reservation_start_date, _ANY_TIME)
    except exception.InvalidInput as error:
        raise exception.ImpossibleDefaults(
            f'[reservations] reservation_start_date: {error}'
        ) from error


def is_due(
    body: Any,
    project_id: str,
    conf: cfg.ConfigOpts,
    access: access.Access,
) -> bool:
    """Return whether the servers in the body get the default lease.

    :param body: the body of the request, as Nova would parse it; errors that
        Nova's own schema refuses are left to Nova.
    :raises: InvalidInput
    """
    group = conf.reservations
    if (
        not group.default_reservation
        or project_id in group.default_reservation_exempt_projects
        or not scheduler_hints.can_be_put(body)
        # The server asks for a lease itself.
        or scheduler_hints.given(body)
    ):
        return False
    flavor = scheduler_hints.flavor(body)
    if flavor in group.default_reservation_exempt_flavors:
        return False
    return not access.has_flavor(project_id, flavor)


def asked(
    body: Any, now: datetime.datetime, context: Any, conf: cfg.ConfigOpts
) -> lease_requests.NewLease:
    """Return the default lease for the servers in the body.

    :raises: InvalidInput
    """
    group = conf.reservations
    start = max(now, dates.parse(group.reservation_start_date, now))
    return lease_requests.NewLease(
        name=_name(body),
        project_id=context.project_id,
        user_id=context.user_id,
        start=start,
        end=start + _length(group),
        before_end=None,
        reservations=(lease_requests.NewReservation(objects.SERVER, {}),),
        by_default=True,
    )


def _length(group: Any) -> datetime.timedelta:
    return datetime.timedelta(
        days=group.reservation_length_days,
        hours=group.reservation_length_hours,
        minutes=group.reservation_length_minutes,
    )


def _name(body: dict[str, Any]) -> str:
    """Return the server's name, if Nova will accept it: it has not checked it
    yet.

    :raises: InvalidInput
    """
    name = body['server'].get('name')
    if not isinstance(name, str):
        return _UNNAMED
    validation.check_storable(name)
    try:
        # Nova's API v2 strips names.
        _NAME.check(name.strip())
    except exception.InvalidInput:
        return _UNNAMED
    return name.strip()
