# SPDX-License-Identifier: Apache-2.0
"""Workers that are killed before each step of their work in Neutron."""

from nova_reservations.testing.region import minutes
from nova_reservations.tests.functional.engine import killed_workers


def each_is_followed(tell, made, places):
    """Check that another worker ends as a worker does that nobody kills.

    :param tell: returns another region after the same story
    :param made: returns the objects in the region's Neutron
    :param places: returns where these are, or whose they are, in any order
    """

    def outcome(region, worker=None):
        """Return the places when all claims have expired, and at the end."""
        for pause in (0.6, 0.1):
            region.now += minutes(pause)
            region.work(worker)
        now = sorted(places(region))
        assert all(
            each.is_tagged or each.project_id == 'other'
            for each in made(region)
        )
        # What it had to leave is nobody's who waits for its end.
        region.look()
        region.forward(until=65, by=worker)
        leases = region.picture()['leases'].values()
        left = sorted(places(region))
        return now, left, [lease['status'] for lease in leases]

    killed_workers.each_is_followed(tell, outcome)
