# SPDX-License-Identifier: Apache-2.0
"""A lease was ended while a worker tried another step of the lease. The delay
of a minute before the next try of that step was also applied to the end.

Issue 13, item 14.
"""

import pytest

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.types.servers import host


class Refused(host.PhysicalHost):
    """Hosts whose update is refused, after the owner has done something
    meanwhile."""

    meanwhile = None

    def update(self, booking):
        if self.meanwhile is not None:
            self.meanwhile()
            self.meanwhile = None
        raise exception.CloudRefused(what='A host', reason='it is refused')


@pytest.fixture
def region(make_region):
    return make_region('one', 'two', types={objects.HOST: Refused})


def test_a_lease_that_is_ended_meanwhile_ends_at_once(region):
    lease = region.active_lease()
    region.forward(until=1)
    region.change(lease, min=1, max=2)
    region.types[objects.HOST].meanwhile = lambda: region.change(lease, end=0)
    region.work()
    assert region.status(lease) == 'TERMINATED'


def test_a_lease_that_nobody_changed_is_put_off(region):
    lease = region.active_lease()
    region.change(lease, min=1, max=2)
    region.work()
    assert region.see(lease).due_at > region.now
