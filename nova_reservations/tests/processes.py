# SPDX-License-Identifier: Apache-2.0
"""Processes that tests start.

A process of pytest has one server that forks them. What it has imported is
settled when it starts the first: so it is here for all tests.
"""

import multiprocessing

PROCESSES = multiprocessing.get_context('forkserver')
# What takes longest of a process, to import Nova, is done once for all.
PROCESSES.set_forkserver_preload(
    ['nova_reservations.tests.functional.races.load']
)
