# SPDX-License-Identifier: Apache-2.0
"""A nova-api or a worker is killed between any two steps for a place."""

import contextlib

import pytest

from nova_reservations import objects
from nova_reservations.testing.region import minutes
from nova_reservations.testing.steps import Killed
from nova_reservations.testing.steps import Steps
from nova_reservations.tests import profile
from nova_reservations.tests.functional.engine.guaranteed import places


def kill(step):
    raise Killed(step)


def ask(region, start):
    """Do all that nova-api does for the request, unless it is killed."""
    with contextlib.suppress(Killed):
        places.asked_for(region, 2, start=start)


@pytest.mark.fuzz
@pytest.mark.parametrize('start', [0, 3])
def test_whenever_the_request_dies_its_place_is_resolved(cloud_of, start):
    for number in profile.steps():
        region = cloud_of('one')
        with Steps(region, number, kill) as steps:
            ask(region, start)
        if not steps.reached:
            break
        region.forward(until=10)
        for lease in region.lease_lists.find(objects.LeaseQuery()):
            if lease.status == 'ERROR':
                assert places.of(region, lease) == places.NOTHING
                assert not lease.server_reservation.servers
            else:
                assert lease.status == 'ACTIVE'
                assert places.of(region, lease)[0] == {'one': 2}
        region.forward(until=70)
        assert not region.cloud.instances
        assert not region.cloud.classes
        assert not region.cloud.aggregate_hosts
        assert region.lease(end=80)
    assert number >= (8 if start == 0 else 4)


@pytest.mark.fuzz
@pytest.mark.parametrize('start', [0, 3])
def test_another_worker_finishes_what_a_killed_one_began(cloud_of, start):
    for number in profile.steps():
        region = cloud_of('one')
        ask(region, start)
        [lease] = region.lease_lists.find(objects.LeaseQuery())
        with Steps(region, number, kill) as steps:
            victim = region.worker('victim')
            for until in (1, 5, 61, 62):
                with contextlib.suppress(Killed):
                    region.forward(until=until, by=victim)
                if steps.reached:
                    break
        if not steps.reached:
            break
        other = region.worker('other')
        if region.now < lease.created_at + minutes(5):
            region.forward(until=5, by=other)
            assert region.status(lease) == 'ACTIVE', number
            assert places.of(region, lease) == ({'one': 2}, {'one'})
            assert len(region.cloud.instances) == 2
        region.forward(until=70, by=other)
        assert region.status(lease) == 'TERMINATED', number
        assert places.of(region, lease) == places.NOTHING
        assert not region.cloud.instances
        assert region.lease(end=80)
    assert number > 10
