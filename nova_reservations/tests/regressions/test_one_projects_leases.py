# SPDX-License-Identifier: Apache-2.0
"""The leases of one project kept those of all other projects from starting.

Workers took the leases that were due the longest. A member could make some
thousand leases end at the same moment with a loop of requests. Starts and ends
of other projects then waited for minutes; 300 leases delayed a start by 27
seconds.

Issue 13, seen from a member.
"""

from nova_reservations.engine.worker import worker
from nova_reservations.testing.region import minutes


def due_at_once(region, count, project, start):
    return [
        region.lease_of(start=start, end=start + 60, project=project)
        for _ in range(count)
    ]


def test_projects_take_turns_at_what_is_due(region):
    many = due_at_once(region, 12, 'many', 1)
    [late] = due_at_once(region, 1, 'one', 2)
    region.now += minutes(3)
    one = region.worker(threads=2)
    one.tick(region.now)
    one.drain()
    assert region.status(late) == 'ACTIVE'
    assert 'PENDING' in {region.status(lease) for lease in many}


def test_a_project_behind_all_that_a_worker_looks_at_has_its_turn(
    region, monkeypatch
):
    monkeypatch.setattr(worker, 'CHOICE', 3)
    due_at_once(region, 12, 'many', 1)
    due_at_once(region, 12, 'more', 2)
    [late] = due_at_once(region, 1, 'one', 3)
    region.now += minutes(4)
    one = region.worker(threads=3)
    one.tick(region.now)
    one.drain()
    assert region.status(late) == 'ACTIVE'
