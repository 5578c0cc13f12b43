# SPDX-License-Identifier: Apache-2.0
"""Draws stories: each has its own mixture of what happens in it, because a
mixture of everything seldom gets far."""

import random
from typing import Any

from nova_reservations.tests.storm import failures  # noqa: F401
from nova_reservations.tests.storm import lookers  # noqa: F401
from nova_reservations.tests.storm import operators  # noqa: F401
from nova_reservations.tests.storm import servers  # noqa: F401
from nova_reservations.tests.storm import stories
from nova_reservations.tests.storm import users  # noqa: F401
from nova_reservations.tests.storm import workers  # noqa: F401
from nova_reservations.tests.storm import world
from nova_reservations.tests.storm.verbs import VERBS

MOST_STEPS = 100
PAUSED = 0.3
"""The share of the steps in whose middle something else happens."""

WORK = ('a_worker_looks_once', 'a_worker_works', 'monitors_look')
PAUSED_WORK = 0.6
"""The share of these steps in whose middle something else happens."""

TWINS = 0.4
"""The share of the steps in a pause that do the same as the step itself."""

MOST_WRITES = 14


def story(seed: str) -> stories.Story:
    """Return the story of a seed: the same one on each machine."""
    dice = random.Random(seed)  # noqa: S311
    settings = {
        name: dice.choice(values) for name, values in world.SETTINGS.items()
    }
    weights = {
        name: verb.weight
        * dice.choice([1, 1, 4] if verb.always else [0, 1, 4])
        for name, verb in VERBS.items()
    }
    length = dice.randint(MOST_STEPS // 3, MOST_STEPS)
    return stories.Story(
        settings, tuple(_step(dice, weights) for _ in range(length))
    )


def _step(
    dice: random.Random, weights: dict[str, int], nested: bool = False
) -> stories.Step:
    [name] = dice.choices([*weights], [*weights.values()])
    values: dict[str, Any] = {
        argument: dice.choice(choices)
        for argument, choices in VERBS[name].choices.items()
    }
    pause = None
    paused = PAUSED_WORK if name in WORK else PAUSED
    if not nested and dice.random() < paused:
        pause = _pause(dice, weights, name)
    return stories.Step(name, values, pause)


def _pause(
    dice: random.Random, weights: dict[str, int], name: str
) -> stories.Pause:
    """Return a pause of a step: often the same is done by two at once."""
    if dice.random() < TWINS:
        weights = {name: 1}
    what = dice.choice(
        [stories.KILL, stories.REFUSED, stories.SILENT, None, None, None]
    )
    return stories.Pause(
        dice.randint(1, dice.choice([2, MOST_WRITES])),
        _step(dice, weights, nested=True) if what is None else what,
    )
