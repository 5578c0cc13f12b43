# SPDX-License-Identifier: Apache-2.0
"""The number of threads of nova-api that may wait for a lease at one time.

Nova leaves its threads to the WSGI server, which alone knows their number.

Decision 0065: doc/source/decisions/0065-usable-when-answered
"""

import importlib
from typing import Any

SHARE = 4
"""One of so many threads may wait, in all processes together."""


def may_wait(configured: int) -> int:
    """Return how many requests of this process may wait at the same time.

    :param configured: the threads of each process; 0: as the server says
    """
    if configured:
        return configured // SHARE
    if uwsgi := _of_server('uwsgi'):
        return _part(uwsgi.cores, uwsgi.numproc, uwsgi.worker_id())
    if mod_wsgi := _of_server('mod_wsgi'):
        # Its distribution on the package index has an ordinary package of this
        # name, without the number.
        return int(getattr(mod_wsgi, 'threads_per_process', 0)) // SHARE
    return 0


def _of_server(name: str) -> Any:
    """Return a module that only exists in processes of this server."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def _part(threads: int, processes: int, process: int) -> int:
    """Return this process's part of the quarter of all threads. Processes have
    one thread only in some clouds: there, every fourth process may wait.

    :param process: the number of this one, from 1 on; 0: it serves nobody
    """
    if not process:
        return 0
    allowed = threads * processes // SHARE
    before = allowed * (process - 1) // processes
    return allowed * process // processes - before
