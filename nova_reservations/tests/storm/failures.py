# SPDX-License-Identifier: Apache-2.0
"""Failures of hosts and of other services, and time."""

from nova_reservations.testing import region as regions
from nova_reservations.tests.storm import world as worlds
from nova_reservations.tests.storm.verbs import verb

ALL_HOSTS = (*worlds.HOSTS, *worlds.DRAINABLE)
HOW = {
    'silent': {},
    'disabled': {'disabled': True},
    'forced down': {'forced_down': True},
}


@verb(8, always=True, minutes=(10, 1, 0.1, 35, 70))
def time_passes(world, minutes):
    world.region.now += regions.minutes(minutes)


@verb(2, host=ALL_HOSTS, how=tuple(HOW))
def a_host_fails(world, host, how):
    world.region.cloud.fail(host, **HOW[how])


@verb(2, host=ALL_HOSTS)
def a_host_recovers(world, host):
    world.region.cloud.recover(host)


@verb(1, silent=(False, True))
def neutron_answers(world, silent):
    world.region.cloud.neutron_is_silent = silent


@verb(1, silent=(False, True))
def a_cell_answers(world, silent):
    cloud = world.region.cloud
    cloud.silent = {cloud.cell_of('one')} if silent else set()
