# SPDX-License-Identifier: Apache-2.0
"""Series of leases, which ``leases.create`` creates."""

from typing import Any

from oslo_utils import uuidutils

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.api import dates
from nova_reservations.api.action import served
from nova_reservations.api.leases import leases
from nova_reservations.api.request import LeaseRequest
from nova_reservations.api.schemas import series as schemas
from nova_reservations.policies import leases as policies


@served(response=schemas.SHOW_RESPONSE, refusals=(404,))
def show(req: LeaseRequest, series_id: str) -> dict[str, Any]:
    found = visible(req, series_id)
    return {'series': {'id': series_id, 'leases': leases.view_of(req)(found)}}


@served(
    query=schemas.DELETE, response=schemas.DELETE_RESPONSE, refusals=(404,)
)
def delete(
    req: LeaseRequest, series_id: str, query: dict[str, str]
) -> dict[str, Any]:
    req.check(policies.DELETE, visible(req, series_id)[0].project_id)
    now = req.now()
    since = dates.parse(query['from'], now) if 'from' in query else None
    left = req.services.series.delete(series_id, now, since)
    shown = leases.view_of(req)([each.lease for each in left])
    return {
        'remaining': [
            {'lease': lease, 'reason': each.why}
            for lease, each in zip(shown, left, strict=True)
        ]
    }


def visible(req: LeaseRequest, series_id: str) -> list[objects.Lease]:
    """Return the leases of the series if the caller may see them; all belong
    to the same project.

    :raises: NotFound; also for a series that only another project may see
    """
    missing = exception.NotFound(kind='Series', id=series_id)
    if not uuidutils.is_uuid_like(series_id):
        raise missing
    found = req.services.series.get(series_id)
    leases.check_visible(req, found[0], missing)
    return found
