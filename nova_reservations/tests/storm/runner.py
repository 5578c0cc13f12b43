# SPDX-License-Identifier: Apache-2.0
"""Lets a story happen, and says why it fails."""

from collections.abc import Iterator
import contextlib
import dataclasses
import logging
import traceback

import nova.conf
from nova.tests import fixtures as nova_fixtures
import pytest

from nova_reservations import exception
from nova_reservations.testing.steps import Killed
from nova_reservations.tests import conftest
from nova_reservations.tests.storm import endings
from nova_reservations.tests.storm import invariants
from nova_reservations.tests.storm import reached
from nova_reservations.tests.storm import stories
from nova_reservations.tests.storm import stores
from nova_reservations.tests.storm import verbs
from nova_reservations.tests.storm import world as worlds


@dataclasses.dataclass(frozen=True)
class Failure:
    """:ivar kind: what fails: equal for stories that fail in the same way.

    :ivar step: the number of the last step; after all steps: the end.
    """

    kind: str
    step: int
    text: str


EXPECTED = (Killed, exception.CloudRefused, exception.CloudUnavailable)


class Unexpected(logging.Handler):
    """Keeps the errors of threads of workers: like an answer of 500, each is
    a defect, unless it is what a pause has raised."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.errors: list[BaseException] = []

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info and record.exc_info[1]
        if error and not isinstance(error, EXPECTED):
            self.errors.append(error)


@contextlib.contextmanager
def prepared() -> Iterator[pytest.MonkeyPatch]:
    """What all stories of a process need."""
    with pytest.MonkeyPatch.context() as patches:
        patches.setattr(
            'nova.api.openstack.identity.verify_project_id',
            lambda context, project_id: True,
        )
        with (
            conftest.fast_sqlite(patches),
            nova_fixtures.ConfFixture(nova.conf.CONF),
        ):
            yield patches


def run(
    story: stories.Story,
    store: stores.Store,
    seen: reached.Reached,
    patches: pytest.MonkeyPatch,
) -> Failure | None:
    """Let a story happen in a world of its own; return why it fails."""
    log = Unexpected()
    logger = logging.getLogger('nova_reservations')
    logger.addHandler(log)
    logger.propagate = False
    number = 0
    try:
        with store.empty() as url, worlds.same_ids(patches):
            world = worlds.World(url, story.settings, seen)
            try:
                known = invariants.Invariants(world)
                for number, step in enumerate(story.steps, 1):
                    _perform(world, known, step)
                    _check(known, log)
                    seen.steps[step.verb] += 1
                number = len(story.steps) + 1
                endings.finish(world, known)
                _check(known, log)
            finally:
                world.close()
    # Whatever a story raises is what the storm has found: it is told.
    except Exception as error:  # noqa: BLE001
        return _failure(log.errors[0] if log.errors else error, number)
    finally:
        logger.removeHandler(log)
    return None


def _perform(
    world: worlds.World, known: invariants.Invariants, step: stories.Step
) -> None:
    def meanwhile(other: stories.Step) -> None:
        before = world.region.now
        _perform(world, known, other)
        known.times_are_exact &= world.region.now == before

    with (
        contextlib.suppress(Killed),
        world.pauses.during(step.pause, meanwhile),
    ):
        verbs.VERBS[step.verb].act(world, **step.values)


def _check(known: invariants.Invariants, log: Unexpected) -> None:
    if log.errors:
        raise log.errors[0]
    known.check()


def _failure(error: Exception, number: int) -> Failure:
    """Name a failure by the place in our code from which it comes."""
    frames = traceback.extract_tb(error.__traceback__)
    last = next(
        (
            frame
            for frame in reversed(frames)
            if 'nova_reservations' in frame.filename
        ),
        frames[-1],
    )
    notes = ' '.join(getattr(error, '__notes__', ()))
    kind = f'{type(error).__name__} in {last.name} {notes}'.strip()
    return Failure(kind, number, ''.join(traceback.format_exception(error)))
