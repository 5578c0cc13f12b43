# SPDX-License-Identifier: Apache-2.0
"""The scheduler hint ``lease_params``, by which a request for servers also
asks for their lease.

Its value is a JSON text, because hints are texts.
"""

from collections.abc import Mapping
import dataclasses
import datetime
from typing import Any

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.api import dates
from nova_reservations.api import validation
from nova_reservations.api.schemas import leases as schemas
from nova_reservations.api.servers import scheduler_hints
from nova_reservations.engine.booking import lease_requests

MAX_LENGTH = 16384


@dataclasses.dataclass(frozen=True, slots=True)
class Terms:
    """The lease that a request for servers asks for.

    :ivar before_end: when the owner is warned; None: as configured.
    :ivar asked: the params of its reservation, not yet checked by a schema.
    :ivar by_default: whether it is the default lease, which the request did
        not ask for.
    """

    name: str
    start: datetime.datetime
    end: datetime.datetime
    before_end: datetime.datetime | None
    asked: Mapping[str, Any]
    by_default: bool = False


def asked(body: Any, now: datetime.datetime) -> Terms:
    """Return the lease for which the body asks with the hint.

    :raises: InvalidInput
    """
    value = scheduler_hints.only(
        scheduler_hints.given(body)[scheduler_hints.LEASE]
    )
    if not isinstance(value, str):
        raise exception.InvalidInput(
            f'The hint "{scheduler_hints.LEASE}" must be one JSON text'
        )
    try:
        return _terms(value, now)
    except exception.InvalidInput as error:
        raise exception.InvalidInput(
            f'{scheduler_hints.LEASE}: {error}'
        ) from error


def _terms(text: str, now: datetime.datetime) -> Terms:
    if len(text) > MAX_LENGTH:
        raise exception.InvalidInput(
            f'It has more than {MAX_LENGTH} characters'
        )
    params = validation.parse_json(text.encode(errors='surrogatepass'))
    schemas.LEASE_PARAMS.check(params)
    before_end = params.get('before_end_date')
    return Terms(
        name=params['name'],
        start=dates.due(_either(params, 'start', 'start_date'), now),
        end=dates.parse(_either(params, 'end', 'end_date'), now),
        before_end=None
        if before_end is None
        else dates.parse(before_end, now),
        asked={
            name: params[name]
            for name in ('before_end', 'on_end', 'guaranteed')
            if name in params
        },
    )


def _either(params: Mapping[str, Any], *names: str) -> str:
    """Return the value under one of its names."""
    given = [name for name in names if name in params]
    if not given:
        raise exception.InvalidInput(f'Missing parameter {names[0]}')
    if len(given) > 1:
        raise exception.InvalidInput(f'Give {" or ".join(names)}, not both')
    date: str = params[given[0]]
    return date


def new_lease(
    terms: Terms, project_id: str, user_id: str
) -> lease_requests.NewLease:
    return lease_requests.NewLease(
        name=terms.name,
        project_id=project_id,
        user_id=user_id,
        start=terms.start,
        end=terms.end,
        before_end=terms.before_end,
        reservations=(
            lease_requests.NewReservation(objects.SERVER, terms.asked),
        ),
        by_default=terms.by_default,
    )
