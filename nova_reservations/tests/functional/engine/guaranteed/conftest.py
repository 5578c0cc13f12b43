# SPDX-License-Identifier: Apache-2.0
"""Clouds whose hosts have room for two servers of one flavor."""

import pytest

from nova_reservations import objects
from nova_reservations.tests.functional.engine.guaranteed import places
from nova_reservations.types.servers import host
from nova_reservations.types.servers import instance
from nova_reservations.types.servers import server as server_plugin

SLOTS = 'virtual:instance'
TYPES = {
    objects.HOST: host.PhysicalHost,
    SLOTS: instance.VirtualInstance,
    objects.SERVER: server_plugin.Server,
}


@pytest.fixture
def cloud_of(make_region):
    def make(*names):
        made = make_region(*names, types=TYPES)
        made.cloud.known_flavors['half'] = places.HALF
        return made

    return make


@pytest.fixture
def region(cloud_of):
    return cloud_of('one', 'two')
