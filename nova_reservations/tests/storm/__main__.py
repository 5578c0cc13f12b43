# SPDX-License-Identifier: Apache-2.0
"""Let users, operators, other tools, workers and failures do anything, in any
order, and check what must always hold.

Each story is drawn from the seed and its number, on an empty database and a
cloud in memory. The first story that fails is made as short as possible and
printed, as steps to read and as JSON for --replay. The storm also fails if it
has not reached each route of the API, and each state of leases, reservations
and events; half a minute suffices for all of them on an idle machine.
"""

import argparse
import dataclasses
import faulthandler
import pathlib
import random
import sys
import time

import sqlalchemy as sa

from nova_reservations.tests import conftest
from nova_reservations.tests.storm import draw
from nova_reservations.tests.storm import EMPTY
from nova_reservations.tests.storm import FAILED
from nova_reservations.tests.storm import reached
from nova_reservations.tests.storm import runner
from nova_reservations.tests.storm import shrink
from nova_reservations.tests.storm import stores
from nova_reservations.tests.storm import stories

HANGS = 180
"""Seconds after which a story hangs; on a busy machine few take ten."""

PLAIN = argparse.RawDescriptionHelpFormatter


def main() -> int:
    parser = _parser()
    options = parser.parse_args()
    url, backend = options.database_url, options.database
    if url is not None:
        backend = sa.make_url(url).get_backend_name()
        backend = 'mysql' if backend == 'mariadb' else backend
        if backend not in conftest.SERVERS:
            parser.error(f'not the URL of a server: {url}')
    try:
        with stores.of(backend, url) as store, runner.prepared() as patches:
            storm = Storm(options, store, patches)
            if options.replay:
                return storm.replay(options.replay)
            return storm.blow()
    except stores.Unavailable as error:
        parser.error(str(error))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog='tools/storm', description=__doc__, formatter_class=PLAIN
    )
    parser.add_argument(
        '--seconds',
        type=float,
        default=30,
        help='begin stories for so long; by default %(default)s',
    )
    parser.add_argument(
        '--stories',
        type=int,
        default=15,
        help='let at least so many stories happen, however long they take: '
        'on a busy machine a storm gets as far; by default %(default)s',
    )
    parser.add_argument(
        '--seed',
        default=str(random.randrange(10**6)),  # noqa: S311
        help='any text: the same seed has the same stories; by default a '
        'new one, which is printed',
    )
    parser.add_argument(
        '--database',
        choices=conftest.BACKENDS,
        default='sqlite',
        help='the kind of database, where the tests find its server',
    )
    parser.add_argument(
        '--database-url',
        help='the server, without a database: mysql+pymysql://root@127.0.0.1',
    )
    parser.add_argument(
        '--shrink-seconds',
        type=float,
        default=60,
        help='shorten a story that fails for at most so long; by default '
        '%(default)s',
    )
    parser.add_argument(
        '--replay',
        type=pathlib.Path,
        metavar='FILE',
        help='only let the story in this file happen, as it was printed',
    )
    return parser


class Storm:
    def __init__(self, options, store, patches) -> None:
        self.options = options
        self.store = store
        self.patches = patches

    def run(
        self, story: stories.Story, seen: reached.Reached
    ) -> runner.Failure | None:
        # A story that hangs ends the storm, and shows where.
        faulthandler.dump_traceback_later(HANGS, exit=True)
        try:
            return runner.run(story, self.store, seen, self.patches)
        finally:
            faulthandler.cancel_dump_traceback_later()

    def replay(self, file: pathlib.Path) -> int:
        story = stories.Story.loads(file.read_text())
        failure = self.run(story, reached.Reached())
        if failure is None:
            print('the story does not fail')
            return 0
        print(told(story, failure))
        return FAILED

    def blow(self) -> int:
        """Let stories happen until the time is up, or one fails."""
        seen = reached.Reached()
        seed, begun = self.options.seed, time.monotonic()
        print(f'seed {seed}', flush=True)
        number = 0
        while (
            number < self.options.stories
            or time.monotonic() - begun < self.options.seconds
        ):
            number += 1
            story = draw.story(f'{seed}/{number}')
            failure = self.run(story, seen)
            if failure is not None:
                print(f'story {number} of seed {seed} fails: {failure.kind}')
                print(told(*self._shortened(story, failure)))
                return FAILED
        return _summary(seen, number, time.monotonic() - begun)

    def _shortened(
        self, story: stories.Story, failure: runner.Failure
    ) -> tuple[stories.Story, runner.Failure]:
        until = time.monotonic() + self.options.shrink_seconds
        found = {story.dumps(): failure}

        def fails(shorter: stories.Story) -> bool:
            if time.monotonic() > until:
                raise shrink.Enough
            again = self.run(shorter, reached.Reached())
            if again is None or again.kind != failure.kind:
                return False
            found[shorter.dumps()] = again
            return True

        # What would have come later can't be needed.
        begun = dataclasses.replace(story, steps=story.steps[: failure.step])
        found[begun.dumps()] = failure
        shortest = shrink.shrink(begun, fails)
        return shortest, found[shortest.dumps()]


def told(story: stories.Story, failure: runner.Failure) -> str:
    steps = '\n'.join(
        f'  {number}. {step.text}'
        for number, step in enumerate(story.steps, 1)
    )
    return (
        f'{failure.text}\nThe story fails after step {failure.step} of\n'
        f'{steps}\n  {len(story.steps) + 1}. (all is calm, and comes to its '
        f'end)\nwith {dict(story.settings)}; for --replay:\n{story.dumps()}'
    )


def _summary(seen: reached.Reached, number: int, took: float) -> int:
    steps = seen.steps.total()
    print(
        f'{number} stories with {steps} steps, {steps / took:.0f} a second; '
        f'{seen.told()}'
    )
    lacks = sorted(seen.lacks())
    if lacks:
        print('never reached:', *lacks, sep='\n  ')
    return EMPTY if lacks else 0


if __name__ == '__main__':
    sys.exit(main())
