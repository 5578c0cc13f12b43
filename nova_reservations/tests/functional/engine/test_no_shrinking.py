# SPDX-License-Identifier: Apache-2.0
"""Active leases of a type that has no way to give anything back."""

from typing import ClassVar

from nova_reservations.objects import demand
from nova_reservations.tests.functional.engine.test_update import refused
from nova_reservations.types import base


class Desks(base.ResourceType):
    """Whole desks."""

    schema: ClassVar = {'type': 'object'}
    update_schema: ClassVar = schema

    def validate(self, asked):
        return {'desks': asked['desks']}

    def demand(self, params):
        count = params['desks']
        return demand.Demand('desk', count, count, None)

    def start(self, booking):
        pass

    def end(self, booking):
        pass


def test_a_lease_keeps_what_it_has(make_region):
    region = make_region(types={'desk': Desks})
    for name in 'window', 'door':
        region.resources.add('desk', name, region.now)
    lease = region.lease_of(('desk', {'desks': 2}))
    region.work()
    assert 'can not give anything back' in refused(region, lease, desks=1)
