# SPDX-License-Identifier: Apache-2.0
"""A POST of a lease, and a start, use only the modules that the page lists."""

from collections.abc import Callable
from collections.abc import Iterator
import contextlib
import pathlib
import re
import sys
import threading
import types
from typing import Any

import nova.conf
import sqlalchemy as sa

from nova_reservations import bootstrap
from nova_reservations.tests.functional.nova import base

CONF = nova.conf.CONF

PAGE = (
    pathlib.Path(__file__).parents[4]
    / 'doc/source/contributor/request-to-row.rst'
)
PACKAGE = 'nova_reservations.'
NOT_OURS = ('nova_reservations.tests', 'nova_reservations.testing')
DATA = re.compile(
    r'(objects|exception|policies|ports|conf|api\.schemas'
    r'|db\.(api|counts|fields|models|writes)'
    r'|(cloud|db)\.time_limits|engine\.fenced_cloud'
    r'|cloud\.outbox|cloud\.notifier)(\.|$)'
)
"""Modules that all others use, as they hold data, options or the session, or
execute a statement; modules around every call that leaves the process; and
modules of the thread that sends notifications, at any time."""


class Walk:
    """The modules of which code is called while something is done.

    :ivar path: modules on the stack when a row is written, or when ``cloud``
        calls Nova.
    :ivar entered: all modules.
    """

    def __init__(self) -> None:
        self.path: set[str] = set()
        self.entered: set[str] = set()

    @property
    def asked(self) -> set[str]:
        return self.entered - self.path

    @contextlib.contextmanager
    def over(self) -> Iterator[None]:
        sa.event.listen(sa.Engine, 'before_cursor_execute', self._statement)
        threading.setprofile(self._call)
        sys.setprofile(self._call)
        try:
            yield
        finally:
            sys.setprofile(None)
            threading.setprofile(None)
            sa.event.remove(
                sa.Engine, 'before_cursor_execute', self._statement
            )

    def _call(self, frame: types.FrameType, event: str, _: Any) -> None:
        if event != 'call' or frame.f_code.co_name == '<module>':
            return
        name = frame.f_globals.get('__name__', '')
        if name.startswith('nova.') and frame.f_back is not None:
            caller = _module(frame.f_back)
            if caller is not None and caller.startswith('cloud.'):
                self._stack(frame)
        module = _module(frame)
        if module is not None:
            self.entered.add(module)

    def _statement(self, _: Any, __: Any, statement: str, *more: Any) -> None:
        if statement.startswith(('INSERT', 'UPDATE', 'DELETE')):
            self._stack(sys._getframe())

    def _stack(self, frame: types.FrameType | None) -> None:
        while frame is not None:
            module = _module(frame)
            if module is not None:
                self.path.add(module)
            frame = frame.f_back


def _module(frame: types.FrameType) -> str | None:
    """Return the module's name below our package; None for modules that do not
    count."""
    name = frame.f_globals.get('__name__', '')
    if not name.startswith(PACKAGE) or name.startswith(NOT_OURS):
        return None
    below = str(name.removeprefix(PACKAGE))
    return None if DATA.match(below) else below


def _listed(section: str, kind: str) -> set[str]:
    """Return the modules that the page lists, by their names in a walk."""
    rest = PAGE.read_text().partition(f'\n{section}\n==')[2]
    rows = rest.partition(f'{kind}:\n\n')[2].partition('\n\n')[0]
    return {
        path.removesuffix('.py').replace('/', '.')
        for path in re.findall(r'``([\w/]+\.py)``', rows)
    }


class RequestToRowTest(base.NovaTestCase):
    hosts = ('host1', 'host2')

    def setUp(self) -> None:
        super().setUp()
        self.enrol(*self.hosts)
        # Due periodic tasks run now, as they have nothing to do with the
        # lease.
        self.work()

    def walk(self, do: Callable[[], Any]) -> Walk:
        walk = Walk()
        with walk.over():
            do()
        return walk

    def post_lease(self) -> None:
        self.api.api_post(
            '/os-reservations/v1/leases',
            {
                'name': 'mine',
                'start_date': 'now',
                'duration': '1d',
                'reservations': [
                    {'resource_type': 'physical:host', 'min': 1, 'max': 1}
                ],
            },
            check_response_status=[201],
        )

    def compare(self, section: str, walk: Walk) -> None:
        self.assertEqual(_listed(section, 'On the path'), walk.path)
        self.assertEqual(_listed(section, 'Asked on the way'), walk.asked)

    def test_a_post_of_a_lease(self) -> None:
        self.post_lease()
        walk = self.walk(self.post_lease)
        self.compare('A lease is created', walk)
        self.assertLessEqual(len(walk.path), 9)

    def test_a_start_of_a_lease(self) -> None:
        self.post_lease()
        # A new worker has new threads, which are traced from their start.
        self.worker = bootstrap.build_worker(CONF, self.services)
        self.addCleanup(self.worker.stop)
        walk = self.walk(self.work)
        self.compare('A lease starts', walk)
        self.assertLessEqual(len(walk.path), 9)
