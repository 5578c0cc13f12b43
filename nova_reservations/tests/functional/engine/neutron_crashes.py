# SPDX-License-Identifier: Apache-2.0
"""Workers that are killed before each step of what they do in Neutron."""

from nova_reservations.testing.region import minutes
from nova_reservations.tests.functional.engine import killed_workers


def each_is_followed(tell, made, places):
    """See that another worker ends as one does that nobody kills.

    :param tell: returns another region after the same story
    :param made: returns what its Neutron has
    :param places: returns where that is, or whose, in any order
    """

    def outcome(region, worker=None):
        """Return what is left when all claims are over, and all there is at
        last."""
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
