# SPDX-License-Identifier: Apache-2.0
"""Workers that are killed before each step, and successors that go on."""

import contextlib

from nova_reservations.testing.region import minutes
from nova_reservations.testing.steps import Steps
from nova_reservations.tests import profile
from nova_reservations.tests.functional.engine import test_crashes


def each_is_followed(tell, outcome, looks=1):
    """Check that another worker ends as a worker does that nobody kills.

    :param tell: returns another region after the same story
    :param outcome: returns the outcome of a region, given the worker that goes
        on if that is not the region's own
    :param looks: how many looks the victim makes, about a second apart
    """
    region = tell()
    region.work()
    undisturbed = outcome(region)
    for number in profile.steps():
        region = tell()
        with Steps(region, number, test_crashes.kill) as steps:
            victim = region.worker('victim')
            for look in range(looks):
                region.now += minutes(0.02 if look else 0)
                with contextlib.suppress(test_crashes.Killed):
                    victim.tick(region.now)
                victim.drain()
                if steps.reached:
                    break
        if not steps.reached:
            break
        assert outcome(region, region.worker('other')) == undisturbed
    assert number >= 3
