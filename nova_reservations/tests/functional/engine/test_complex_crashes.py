# SPDX-License-Identifier: Apache-2.0
"""A worker is killed, or refused, before each step of a lease whose
reservation has parts. The final state must be that of a run without a kill.
"""

import contextlib

import pytest

from nova_reservations.testing import addresses
from nova_reservations.testing.region import minutes
from nova_reservations.testing.steps import Steps
from nova_reservations.tests import profile
from nova_reservations.tests.functional.engine import clusters
from nova_reservations.tests.functional.engine import failing_writes
from nova_reservations.tests.functional.engine import test_crashes

pytestmark = pytest.mark.fuzz

ALL = 2, 2, 1
NOTHING = 0, 0, 0


def start(region):
    clusters.nothing(region)
    return clusters.ask(region)


def refused_start(region):
    """A start that is refused, as another project has one of the addresses."""
    clusters.nothing(region)
    lease = clusters.ask(region, addresses=2)
    addresses.take(region, 102)
    return lease


def late_start(region):
    """A start that its own end overtakes when one of the servers exists."""
    clusters.nothing(region)
    lease = clusters.ask(region, end=1)
    region.work()
    region.now += minutes(1)
    return lease


def growth(region):
    clusters.nothing(region)
    lease = clusters.ask(region, machines=0)
    region.forward(until=1)
    region.change(lease, machines=1, nodes=3, addresses=2)
    return lease


def end(region):
    lease = start(region)
    region.forward(until=1)
    region.now += minutes(60)
    return lease


@pytest.fixture
def told(make_region):
    """Return a region after a story, and its lease."""

    def tell(story):
        return clusters.region_of(make_region, story)

    return tell


@pytest.mark.parametrize(
    'story', [start, refused_start, late_start, growth, end]
)
def test_another_worker_finishes_what_a_killed_one_began(told, story):
    region, lease = told(story)
    region.work()
    undisturbed = outcome(region, lease)
    for number in profile.steps():
        region, lease = told(story)
        with Steps(region, number, test_crashes.kill) as steps:
            victim = region.worker('victim')
            # The victim makes three looks, about a second apart.
            for _ in range(3):
                with contextlib.suppress(test_crashes.Killed):
                    victim.tick(region.now)
                victim.drain()
                if steps.reached:
                    break
                region.now += minutes(0.02)
        if not steps.reached:
            break
        assert outcome(region, lease, region.worker('other')) == undisturbed
    assert number >= 5


def outcome(region, lease, worker=None):
    """Return what there is when all claims have expired, and at the end."""
    for pause in (0.6, 0.1, 0.1):
        region.now += minutes(pause)
        region.work(worker)
    seen = [seen_of(region, lease)]
    region.forward(until=100, by=worker)
    return [*seen, seen_of(region, lease)]


def seen_of(region, lease):
    return (
        region.status(lease),
        clusters.statuses(region, lease),
        clusters.in_cloud(region, lease),
        sorted(addresses.there(region).values()),
        len(region.hosts_of(lease)),
    )


@failing_writes.whatever_fails
def test_a_lease_has_all_parts_or_none_whatever_fails(told, error):
    number = 0
    for region, lease in failing_writes.each(lambda: told(start), error):
        number += 1
        assert (
            region.status(lease),
            *clusters.in_cloud(region, lease),
        ) == (
            ('ACTIVE', *ALL)
            if error is failing_writes.SILENT
            else ('ERROR', *NOTHING)
        )
        # The parts may be taken back in any order.
        region.forward(until=70)
        assert clusters.in_cloud(region, lease) == NOTHING
        assert region.hosts_of(lease) == set()
    assert number >= 6
