# SPDX-License-Identifier: Apache-2.0
"""Metrics cost no more CPU than the documentation promises.

The benchmark measures the cost in detail.
"""

import statistics
import time
import uuid

from nova import objects
from nova.virt import fake

from nova_reservations.compute.metrics import collector
from nova_reservations.compute.metrics import servers
from nova_reservations.compute.metrics import threshold
from nova_reservations.tests.unit.compute.metrics import builders
from nova_reservations.tests.unit.compute.metrics import test_collector


def test_a_round_of_two_hundred_servers_is_fifty_milliseconds_of_cpu():
    """This includes a plugin, and an audit that has replaced all servers."""
    objects.register_all()
    conf = builders.make_conf(
        metrics_threshold={'limit': ['cpu.percent over 95 for 300']}
    )
    plugin = threshold.Threshold('host1', conf, lambda *_: None)
    measuring = collector.Collector(
        'host1', fake.FakeDriver(None), servers.Servers(), conf
    )
    measuring.threads = {
        'it': test_collector.SynchronousPluginThread('it', plugin)
    }
    taken = []
    for minute in range(11):
        measuring.servers.replace(
            'node',
            [
                test_collector.make_instance(str(uuid.UUID(int=number)))
                for number in range(200)
            ],
        )
        before = time.thread_time()
        measuring.round(test_collector.at(60 * minute))
        taken.append(time.thread_time() - before)
    assert statistics.median(taken) < 0.05
