# SPDX-License-Identifier: Apache-2.0
"""A type of resource with amounts, for tests: whole pools, or GiB of pools."""

from typing import ClassVar

from nova_reservations.objects import demand
from nova_reservations.objects import requirements
from nova_reservations.types import base

POOL = 'test:pool'
GIB = 'STORAGE_GB'


class Pool(base.ResourceType):
    """Pools in our database only: no service is told of leases."""

    schema: ClassVar = {'type': 'object'}
    update_schema: ClassVar = schema

    def validate(self, asked):
        return dict(asked)

    def demand(self, params):
        required = requirements.parse(
            params.get('required'), facts=requirements.OF_OTHERS
        )
        if 'size' not in params:
            count = params.get('count', 1)
            return demand.Demand(POOL, count, count, required)
        return demand.Share(
            POOL, params.get('count', 1), {GIB: params['size']}, None, required
        )

    def start(self, booking):
        pass

    def end(self, booking):
        pass
