# SPDX-License-Identifier: Apache-2.0
"""A worker is killed before each step of a lease of hosts and addresses. The
final state must be that of a run without a kill.
"""

import contextlib
import itertools

import pytest

from nova_reservations import exception
from nova_reservations.testing import addresses
from nova_reservations.testing.addresses import asked
from nova_reservations.testing.addresses import there
from nova_reservations.testing.region import minutes
from nova_reservations.testing.steps import Steps
from nova_reservations.tests.functional.engine import failing_writes
from nova_reservations.tests.functional.engine import neutron_crashes
from nova_reservations.tests.functional.engine import test_crashes

pytestmark = pytest.mark.fuzz

HOST = 'physical:host', {'min': 1, 'max': 1}


def start(region):
    return region.lease_of(HOST, asked(2))


def growth(region):
    lease = region.lease_of(asked(1))
    region.work()
    region.change(lease, amount=2)
    return lease


def refused_start(region):
    """A start that is refused, as another project has the second address."""
    lease = region.lease_of(HOST, asked(2, 101, 102))
    addresses.take(region, 102)
    return lease


def end(region):
    lease = region.lease_of(HOST, asked(2))
    region.work()
    region.now += minutes(60)
    return lease


def healing(region):
    """An address that another project has taken; no monitor has seen that
    yet."""
    lease = region.lease_of(asked(1, 102))
    region.work()
    region.cloud.floating_ips.clear()
    addresses.take(region, 102)
    region.soon('monitor')
    return lease


@pytest.fixture
def told(make_region):
    """Return a region after a story."""

    def tell(story):
        region = make_region(
            'one', types=addresses.TYPES, monitors=addresses.MONITORS
        )
        addresses.enrol(region, 101, 102)
        return region, story(region)

    return tell


@pytest.mark.parametrize('story', [start, growth, refused_start, end, healing])
def test_another_worker_finishes_what_a_killed_one_began(told, story):
    neutron_crashes.each_is_followed(
        lambda: told(story)[0],
        lambda region: region.cloud.floating_ips.values(),
        lambda region: there(region).items(),
    )


def test_a_killed_enrolment_is_done_again(make_region):
    for number in itertools.count(1):
        region = make_region('one', types=addresses.TYPES)
        with Steps(region, number, test_crashes.kill) as steps:
            with contextlib.suppress(test_crashes.Killed):
                addresses.enrol(region, 101)
        if not steps.reached:
            break
        with contextlib.suppress(exception.InvalidState):
            addresses.enrol(region, 101)
        region.lease_of(asked(1, 101))
    assert number > 1


@failing_writes.whatever_fails
def test_a_lease_of_both_has_all_or_nothing_whatever_fails(told, error):
    number = 0
    for region, lease in failing_writes.each(lambda: told(start), error):
        number += 1
        both = region.aggregate_of(lease), sorted(there(region))
        if error is failing_writes.SILENT:
            assert region.status(lease) == 'ACTIVE'
            assert both == ({'one'}, [101, 102])
        else:
            assert region.status(lease) == 'ERROR'
            assert both == (None, [])
    assert number >= 4
