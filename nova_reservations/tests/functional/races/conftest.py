# SPDX-License-Identifier: Apache-2.0
"""A Galera cluster beside the other kinds of servers."""

import contextlib
import itertools
import os
import pathlib
import tempfile

import pytest

from nova_reservations.tests import conftest
from sandbox import galera

GALERA = pytest.param('galera', marks=pytest.mark.xdist_group('galera'))
"""All tests of the cluster are in one group, and take turns."""

IF_LONG = [GALERA] * (os.environ.get('NOVA_RESERVATIONS_TEST_LONG') == '1')
"""The cluster, for tests that take minutes on it; only tools/full runs
them.
"""

collect_ignore = [] if IF_LONG else ['test_killed_node.py']


@pytest.fixture(scope='session')
def _clusters():
    """A function that returns the running cluster, or a new one when a test
    has broken the old one."""
    missing = galera.missing()
    if missing:
        pytest.skip(f'no {missing}')
    with contextlib.ExitStack() as stack:
        running = []

        def whole():
            if not running or not running[0].is_whole():
                stack.close()
                # The path of a socket must be short.
                directory = stack.enter_context(tempfile.TemporaryDirectory())
                running[:] = [
                    stack.enter_context(galera.lent(pathlib.Path(directory)))
                ]
            return running[0]

        yield whole


@pytest.fixture
def cluster(_clusters):
    """A cluster of three nodes."""
    return _clusters()


@pytest.fixture
def node_urls(cluster):
    """The URLs of one empty database, one at each of the nodes."""
    with cluster.database() as urls:
        yield urls


@pytest.fixture(params=conftest.BACKENDS)
def any_database(request, tmp_path, lend):
    """A database with our tables, on each kind of server in turn. Where a test
    asks for a cluster, the database is at its first node."""
    if request.param == 'galera':
        made = conftest.with_tables(request.getfixturevalue('node_urls')[0])
    else:
        made = conftest.database_on(request.param, tmp_path, lend)
    with made as database:
        yield database


@pytest.fixture
def gates(request, any_database):
    """The URLs of processes that write, in turn. On a cluster they are those
    of two nodes."""
    if 'node_urls' in request.fixturenames:
        return itertools.cycle(request.getfixturevalue('node_urls')[:2])
    return itertools.repeat(any_database.url)
