# SPDX-License-Identifier: Apache-2.0
"""Whether a resource can be promised now: the one answer to that question,
for whoever plans, counts or shows."""

import sqlalchemy as sa

from nova_reservations.db import models

RESOURCE = models.table(models.Resource)


def bookable() -> sa.ColumnElement[bool]:
    """Return whether a resource has neither failed, nor is held back from
    new leases."""
    return sa.and_(RESOURCE.c.down_since.is_(None), RESOURCE.c.hold.is_(None))
