# SPDX-License-Identifier: Apache-2.0
"""Processes that tests start.

A process of pytest has one fork server, which forks all of them. The list of
modules that the fork server imports is fixed when it forks the first process.
So the list is here, for all tests.
"""

import multiprocessing

PROCESSES = multiprocessing.get_context('forkserver')
# The slowest part of a process is to import Nova: the fork server does it
# once for all.
PROCESSES.set_forkserver_preload(
    ['nova_reservations.tests.functional.races.load']
)
