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
from nova_reservations.tests.storm import stores
from nova_reservations.tests.storm import stories
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

    @contextlib.contextmanager
    def kept(self) -> Iterator[None]:
        """Keep them meanwhile, and print nothing."""
        logger = logging.getLogger('nova_reservations')
        logger.addHandler(self)
        logger.propagate = False
        try:
            yield
        finally:
            logger.removeHandler(self)
            logger.propagate = True

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info and record.exc_info[1]
        if error and not isinstance(error, EXPECTED):
            self.errors.append(error)


@contextlib.contextmanager
def prepared() -> Iterator[pytest.MonkeyPatch]:
    """Prepare the process, for all its stories."""
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
    happening = Happening(story, seen)
    with happening.log.kept():
        try:
            with store.empty() as url, worlds.same_ids(patches):
                happening.run(url)
        # Whatever a story raises is what the storm has found, and is told.
        except Exception as error:
            errors = [*happening.log.errors, error]
            return _failure(errors[0], happening.step)
    return None


class Happening:
    """:ivar step: the number of the step that happens; 0: before the first
    one.
    """

    def __init__(self, story: stories.Story, seen: reached.Reached) -> None:
        self.story = story
        self.seen = seen
        self.step = 0
        self.log = Unexpected()

    def run(self, url: str) -> None:
        world = worlds.World(url, self.story.settings, self.seen)
        try:
            known = invariants.Invariants(world)
            for step in self.story.steps:
                self.step += 1
                _perform(world, known, step)
                self._check(known)
                self.seen.steps[step.verb] += 1
            self.step += 1
            endings.finish(world, known)
            self._check(known)
        finally:
            world.close()

    def _check(self, known: invariants.Invariants) -> None:
        if self.log.errors:
            raise self.log.errors[0]
        known.check()


def _perform(
    world: worlds.World, known: invariants.Invariants, step: stories.Step
) -> None:
    def meanwhile(other: stories.Step) -> None:
        before = world.region.now
        _perform(world, known, other)
        known.times_are_exact &= world.region.now == before

    with (
        contextlib.suppress(*EXPECTED),
        world.pauses.during(step.pause, meanwhile),
    ):
        verbs.VERBS[step.verb].act(world, **step.values)


def _failure(error: BaseException, number: int) -> Failure:
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
