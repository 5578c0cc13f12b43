# SPDX-License-Identifier: Apache-2.0
import types

import pytest

from nova_reservations import exception
from nova_reservations.engine import fenced_cloud
from nova_reservations.ports import fences


def lost():
    raise exception.AttemptLost(name='heal')


@pytest.fixture
def cloud():
    servers = types.SimpleNamespace(delete=lambda: 'deleted')
    # Plugins bring what a cloud of their own has beside the port.
    return fenced_cloud.fenced(
        types.SimpleNamespace(
            servers=servers, evict=lambda: 'evicted', racks={'one': 1}
        )
    )


def test_methods_of_parts_and_of_the_whole_are_called(cloud):
    assert cloud.servers.delete() == 'deleted'
    assert cloud.evict() == 'evicted'


def test_a_lost_thread_calls_neither(cloud):
    with fences.around(lost):
        with pytest.raises(exception.AttemptLost):
            cloud.servers.delete()
        with pytest.raises(exception.AttemptLost):
            cloud.evict()


def test_the_data_of_a_cloud_is_as_it_is(cloud):
    assert 'one' in cloud.racks
    cloud.racks['two'] = 2
    assert len(cloud.racks) == 2
