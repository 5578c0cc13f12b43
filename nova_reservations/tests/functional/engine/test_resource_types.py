# SPDX-License-Identifier: Apache-2.0
"""A type of resource that the core knows nothing of."""

from typing import ClassVar

import pytest

from nova_reservations import demand
from nova_reservations import exception
from nova_reservations.db import models
from nova_reservations.plugins import base

LICENCES = 'example:licence'


class Licence(base.ResourceType):
    """Licences of some software; who may use which is in ``used``."""

    schema: ClassVar = {}
    update_schema: ClassVar = {}

    def __init__(self, cloud, conf):
        super().__init__(cloud, conf)
        self.used = {}
        self.returned = True

    def validate(self, asked):
        return {'seats': int(asked['seats'])}

    def demand(self, params):
        return demand.Demand(LICENCES, params['seats'], params['seats'])

    def start(self, booking):
        for resource in booking.resources:
            booking.check()
            self.used[resource.name] = booking.lease.project_id

    def end(self, booking):
        if not self.returned:
            return base.Waiting('Somebody still works with it')
        for resource in booking.resources:
            booking.check()
            self.used.pop(resource.name, None)
        return None


@pytest.fixture
def region(make_region):
    region = make_region(types={LICENCES: Licence})
    with region.database.writer() as session:
        for number in range(2):
            session.add(
                models.Resource(
                    resource_type=LICENCES,
                    name=f'licence {number}',
                    uuid=f'licence-{number}',
                    reservable=True,
                    spread=number,
                    created_at=region.now,
                )
            )
    return region


@pytest.fixture
def used(region):
    return region.types[LICENCES].used


def test_it_is_leased_started_and_ended(region, used):
    lease = region.lease_of((LICENCES, {'seats': '2'}), start=5)
    assert dict(lease.reservations[0].params) == {'seats': 2}
    region.forward(until=4)
    assert used == {}
    region.forward(until=5)
    assert region.status(lease) == 'ACTIVE'
    assert used == {'licence 0': 'lessee', 'licence 1': 'lessee'}
    region.forward(until=61)
    assert region.status(lease) == 'TERMINATED'
    assert used == {}


def test_it_is_not_leased_twice(region):
    region.lease_of((LICENCES, {'seats': 1}))
    with pytest.raises(exception.NotEnoughResources):
        region.lease_of((LICENCES, {'seats': 2}))
    region.lease_of((LICENCES, {'seats': 1}))


def test_its_end_is_waited_for(region, used):
    lease = region.lease_of((LICENCES, {'seats': 1}))
    region.forward(until=59)
    region.types[LICENCES].returned = False
    region.forward(until=61)
    assert region.see(lease).status_reason == 'Somebody still works with it'
    region.types[LICENCES].returned = True
    region.forward(until=62)
    assert region.status(lease) == 'TERMINATED'


def test_an_active_lease_of_it_grows(region, used):
    lease = region.lease_of((LICENCES, {'seats': 1}))
    region.work()
    region.change(lease, seats=2)
    region.work()
    assert len(used) == 2
