# SPDX-License-Identifier: Apache-2.0
"""Stories of a storm are drawn, written down and shortened."""

import pytest

from nova_reservations.tests.storm import draw
from nova_reservations.tests.storm import reached
from nova_reservations.tests.storm import shrink
from nova_reservations.tests.storm import stories
from nova_reservations.tests.storm.verbs import VERBS

SETTINGS = {'limited': False, 'cleaning': 0, 'evacuate': False}


def step(name, pause=None, **values):
    plain = {key: all_of[0] for key, all_of in VERBS[name].choices.items()}
    return stories.Step(name, {**plain, **values}, pause)


def story(*steps):
    return stories.Story(SETTINGS, steps)


@pytest.mark.parametrize('number', range(20))
def test_stories_are_read_as_they_were_written(number):
    drawn = draw.story(f'seed/{number}')
    assert stories.Story.loads(drawn.dumps()) == drawn
    assert draw.story(f'seed/{number}') == drawn


def test_a_shrunk_story_has_only_the_steps_that_it_needs():
    needed = step('time_passes', minutes=70)
    others = [step('servers_leave') for _ in range(10)]
    long = story(*others, needed, *others)
    assert shrink.shrink(long, lambda it: needed in it.steps) == story(needed)


def test_a_shrunk_step_is_the_plainest_that_still_fails():
    meanwhile = stories.Pause(3, step('time_passes', minutes=1))
    first = step('lease_hosts', meanwhile, minimum=3, length=120)

    def fails(shorter):
        return any(
            each.verb == 'lease_hosts' and each.values['minimum'] > 1
            for each in shorter.steps
        )

    found = shrink.shrink(story(first), fails)
    assert found == story(step('lease_hosts', minimum=2))


def test_no_time_to_shrink_leaves_the_shortest_story_so_far():
    def fails(shorter):
        if len(shorter.steps) < 3:
            raise shrink.Enough
        return True

    found = shrink.shrink(story(*[step('servers_leave')] * 6), fails)
    assert len(found.steps) == 3


def test_requests_are_counted_by_route_and_only_if_granted():
    seen = reached.Reached()
    seen.request('GET', '/leases/an-id?deleted=true', 200)
    seen.request('GET', '/os-hosts/calendar', 200)
    seen.request('GET', '/os-hosts/1', 404)
    seen.request('GET', '/', 300)
    assert +seen.routes == {
        'GET /v1/leases/{lease_id}': 1,
        'GET /v1/os-hosts/calendar': 1,
        'GET /': 1,
    }
