# SPDX-License-Identifier: Apache-2.0
"""Steps of workers: several share a database, and one may be killed."""

from nova_reservations.db import tasks
from nova_reservations.db.holdings import healing
from nova_reservations.db.leases import looks
from nova_reservations.db.resources import hosts as host_rows
from nova_reservations.testing.steps import Killed
from nova_reservations.tests.storm import world as worlds
from nova_reservations.tests.storm.verbs import verb

NUMBERS = tuple(range(worlds.WORKERS))
LOOKS = 60
"""The most looks until nothing is due any more at an instant."""

TASKS = (host_rows.REFRESH, healing.MONITOR, healing.HEAL)


@verb(3, always=True, number=NUMBERS)
def a_worker_looks_once(world, number):
    if number in world.busy:
        # In the middle of its own step it can't wait for this step to end.
        return
    worker = world.workers[number]
    world.busy.add(number)
    try:
        worker.tick(world.region.now)
    except Killed:
        world.replace_worker(number)
    finally:
        worker.drain()
        world.busy.discard(number)


@verb(6, always=True, number=NUMBERS)
def a_worker_works(world, number):
    """Do all that is due at this instant."""
    for _ in range(LOOKS):
        if number in world.busy or not is_due(world):
            return
        a_worker_looks_once(world, number)
    raise AssertionError('there is always something due at this instant')


@verb(2, number=NUMBERS)
def monitors_look(world, number):
    """Look at all monitors; a minute later claims of a worker that was killed
    have expired."""
    region = world.region
    region.now += worlds.minutes(1)
    region.monitoring.poll(region.now)
    region.healing.check_replaced(region.now)
    a_worker_works(world, number)


@verb(1, task=TASKS)
def a_task_is_due(world, task):
    with world.region.database.writer() as session:
        tasks.hurry(session, task, world.region.now)


def is_due(world: worlds.World) -> bool:
    region = world.region
    with region.database.reader() as session:
        look = looks.at(session, region.now)
    return look.lease or look.message or bool(look.tasks)
