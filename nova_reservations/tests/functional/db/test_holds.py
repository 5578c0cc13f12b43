# SPDX-License-Identifier: Apache-2.0
"""Queries for resources without holds, compared with the table of reasons, on
each kind of database."""

import types

import sqlalchemy as sa

from nova_reservations.db import models
from nova_reservations.db.resources import holds
from nova_reservations.objects import holds as table
from nova_reservations.tests.unit.objects.test_holds import every_resource
from nova_reservations.tests.unit.objects.test_holds import NOON

RESOURCE = models.table(models.Resource)


def test_queries_find_exactly_what_no_reason_forbids(any_database):
    resources = {
        number: resource
        for number, resource in enumerate(every_resource(), start=1)
    }
    with any_database.writer() as session:
        for number, resource in resources.items():
            session.execute(
                sa.insert(RESOURCE).values(
                    id=number,
                    resource_type='host',
                    name=str(number),
                    uuid=str(number),
                    generation=0,
                    spread=0,
                    created_at=NOON,
                    **resource,
                )
            )
    for use in holds.Use:
        with any_database.reader() as session:
            found = set(
                session.scalars(
                    sa.select(RESOURCE.c.id).where(holds.free(use))
                )
            )
        assert found == {
            number
            for number, resource in resources.items()
            if not table.forbidding(types.SimpleNamespace(**resource), use)
        }, use
