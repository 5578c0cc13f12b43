# SPDX-License-Identifier: Apache-2.0
"""Makes a story shorter and plainer as long as it still fails in the same
way."""

from collections.abc import Callable
from collections.abc import Iterator
import dataclasses

from nova_reservations.tests.storm import stories
from nova_reservations.tests.storm.verbs import VERBS

Fails = Callable[[stories.Story], bool]
"""It returns whether a story still fails; it raises Enough when the time is
up."""


class Enough(Exception):
    """There is no time to try another story."""


def shrink(story: stories.Story, fails: Fails) -> stories.Story:
    """Return the shortest, and plainest, of the stories that were tried and
    fail."""
    shortest = story

    def still_fails(shorter: stories.Story) -> bool:
        nonlocal shortest
        if not fails(shorter):
            return False
        shortest = shorter
        return True

    try:
        while _shorter(shortest, still_fails) or _plainer(
            shortest, still_fails
        ):
            pass
    except Enough:
        pass
    return shortest


def _shorter(story: stories.Story, fails: Fails) -> bool:
    """Leave out a half, a quarter, ..., single steps, from the end on."""
    found = False
    size = max(1, len(story.steps) // 2)
    while size:
        first = len(story.steps) - size
        while first >= 0:
            rest = story.steps[:first] + story.steps[first + size :]
            shorter = dataclasses.replace(story, steps=rest)
            if fails(shorter):
                story, found = shorter, True
            first -= size
        size //= 2
    return found


def _plainer(story: stories.Story, fails: Fails) -> bool:
    """Take the first plainer step that does; and plain settings."""
    for number, step in enumerate(story.steps):
        for plainer in _plainer_steps(step):
            steps = list(story.steps)
            steps[number] = plainer
            if fails(dataclasses.replace(story, steps=tuple(steps))):
                return True
    return False


def _plainer_steps(step: stories.Step) -> Iterator[stories.Step]:
    if step.pause is not None:
        yield dataclasses.replace(step, pause=None)
        what = step.pause.what
        if isinstance(what, stories.Step):
            for plainer in _plainer_steps(what):
                yield dataclasses.replace(
                    step, pause=stories.Pause(step.pause.at, plainer)
                )
    for name, choices in VERBS[step.verb].choices.items():
        for value in choices[: choices.index(step.values[name])]:
            yield dataclasses.replace(
                step, values={**step.values, name: value}
            )
