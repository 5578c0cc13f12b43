# SPDX-License-Identifier: Apache-2.0
"""Offers: windows in which a lease would be accepted."""

from typing import Any

from nova_reservations.api import dates
from nova_reservations.api.action import served
from nova_reservations.api.leases import creation
from nova_reservations.api.request import LeaseRequest
from nova_reservations.api.schemas import offers as schemas
from nova_reservations.engine.leases import lease_offers
from nova_reservations.policies import leases as policies

DEFAULT = 5
"""The number of offers if the request gives none."""


@served(body=schemas.FIND, response=schemas.FIND_RESPONSE, asks=True)
def find(req: LeaseRequest, body: dict[str, Any]) -> dict[str, Any]:
    context = req.context
    req.check(policies.OFFERS)
    now = req.now()
    start = dates.parse(body.get('start_after', 'now'), now)
    duration = dates.parse_duration(body['duration'])
    # Check that the end of the first window is a valid date.
    dates.after(start, duration)
    found = req.services.offers.find(
        lease_offers.OfferQuery(
            project_id=creation.project_of(context, body.get('project_id')),
            user_id=context.user_id,
            reservations=tuple(
                creation.new_reservation(req, item)
                for item in body['reservations']
            ),
            duration=duration,
            start_after=start,
            start_before=dates.parse(body['start_before'], now)
            if 'start_before' in body
            else None,
            limit=body.get('limit', DEFAULT),
            review=creation.review(req),
        ),
        now,
    )
    return {
        'offers': [
            {
                'start_date': dates.show(window.start),
                'end_date': dates.show(window.end),
            }
            for window in found.windows
        ],
        'truncated': found.truncated,
    }
