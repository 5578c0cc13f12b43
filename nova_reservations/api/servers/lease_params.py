# SPDX-License-Identifier: Apache-2.0
"""The scheduler hint ``lease_params``, by which a request for servers also
asks for their lease.

Its value is a JSON text, because hints are texts.
"""

from collections.abc import Mapping
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


def asked(
    body: Any, now: datetime.datetime, context: Any
) -> lease_requests.NewLease:
    """Return the lease for which the body asks with the hint.

    No schema has checked yet what its reservation asks for.

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
        return _asked(value, now, context)
    except exception.InvalidInput as error:
        raise exception.InvalidInput(
            f'{scheduler_hints.LEASE}: {error}'
        ) from error


def _asked(
    text: str, now: datetime.datetime, context: Any
) -> lease_requests.NewLease:
    if len(text) > MAX_LENGTH:
        raise exception.InvalidInput(
            f'It has more than {MAX_LENGTH} characters'
        )
    params = validation.parse_json(text.encode(errors='surrogatepass'))
    schemas.LEASE_PARAMS.check(params)
    before_end = params.get('before_end_date')
    wanted = {
        name: params[name]
        for name in ('before_end', 'on_end', 'guaranteed')
        if name in params
    }
    return lease_requests.NewLease(
        name=params['name'],
        project_id=context.project_id,
        user_id=context.user_id,
        start=dates.due(_either(params, 'start', 'start_date'), now),
        end=dates.parse(_either(params, 'end', 'end_date'), now),
        before_end=None
        if before_end is None
        else dates.parse(before_end, now),
        reservations=(lease_requests.NewReservation(objects.SERVER, wanted),),
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
