# SPDX-License-Identifier: Apache-2.0
"""The databases of stories: an empty one for each, on one kind of server."""

from collections.abc import Iterator
import contextlib
import pathlib
import tempfile
from typing import Protocol

import pytest

from nova_reservations.testing import template
from nova_reservations.tests import conftest
from nova_reservations.tests import databases


class Unavailable(Exception):
    """There is no such server."""


class Store(Protocol):
    def empty(self) -> contextlib.AbstractContextManager[str]:
        """Give the URL of a database with our tables, which are empty."""
        ...


class _Files:
    def __init__(self, directory: pathlib.Path) -> None:
        self._file = directory / 'storm.db'

    @contextlib.contextmanager
    def empty(self) -> Iterator[str]:
        for left in self._file.parent.glob('storm.db*'):
            left.unlink()
        yield template.copy_to(self._file)


class _Server:
    """One database, whose rows are deleted after each story."""

    def __init__(self, backend: str, made: contextlib.ExitStack) -> None:
        self._backend = backend
        self._made = made
        self._reused: databases.Reused | None = None

    @contextlib.contextmanager
    def empty(self) -> Iterator[str]:
        if self._reused is None or not self._reused.is_fit:
            url = self._made.enter_context(
                conftest.empty_database(self._backend, pathlib.Path())
            )
            self._reused = databases.Reused(url)
        with self._reused.lent():
            yield self._reused.url


@contextlib.contextmanager
def of(backend: str, url: str | None = None) -> Iterator[Store]:
    """Give databases on one of conftest.BACKENDS.

    :param url: of the server, without a database
    :raises: Unavailable if it does not answer
    """
    if url is not None:
        conftest.SERVERS[backend] = url
    with contextlib.ExitStack() as made:
        if backend == 'sqlite':
            directory = made.enter_context(tempfile.TemporaryDirectory())
            yield _Files(pathlib.Path(directory))
            return
        try:
            store = _Server(backend, made)
            with store.empty():
                pass
        except pytest.skip.Exception as error:
            raise Unavailable(str(error)) from error
        yield store
