# SPDX-License-Identifier: Apache-2.0
import logging
import threading

import pytest

from nova_reservations.compute import plugin_breaker
from nova_reservations.compute.metrics import base
from nova_reservations.compute.metrics import plugin_thread
from nova_reservations.tests.unit.compute.metrics import builders


class Plugin(base.MetricPlugin):
    """Records its calls; fails and waits as a test says."""

    def __init__(self):
        super().__init__('host1', builders.make_conf())
        self.seen = []
        self.gone = []
        self.fails = False
        self.is_busy = threading.Event()
        self.may_go = threading.Event()
        self.may_go.set()

    def on_cpu(self, instance, cpu_dict):
        self.is_busy.set()
        self.may_go.wait()
        if self.fails:
            raise RuntimeError('of the plugin')
        self.seen.append(cpu_dict['time'])

    def on_gone(self, instance):
        self.gone.append(instance)

    def close(self):
        self.seen.append('closed')


@pytest.fixture
def plugin():
    made = Plugin()
    yield made
    made.may_go.set()


def batch(number):
    return [('on_cpu', (None, {'time': number}))]


def test_batches_arrive_in_order(plugin):
    thread = plugin_thread.PluginThread('plugin', plugin)
    thread.start()
    for number in range(10):
        thread.put(batch(number))
    thread.stop()
    assert plugin.seen == [*range(10), 'closed']


def test_the_collector_never_waits_and_the_oldest_batches_are_lost(
    plugin, caplog
):
    thread = plugin_thread.PluginThread('slow', plugin)
    plugin.may_go.clear()
    thread.start()
    thread.put(batch(0))
    plugin.is_busy.wait()
    for number in range(1, 100):
        thread.put(batch(number))
    warnings = [
        each.getMessage()
        for each in caplog.records
        if each.levelno == logging.WARNING
    ]
    assert warnings == [
        f'The metric plugin slow is late by {plugin_thread.DEPTH} batches of '
        'measurements; the oldest are lost'
    ]
    plugin.may_go.set()
    thread.put(batch(100))
    thread.stop()
    assert plugin.seen[-2:] == [100, 'closed']
    assert len(plugin.seen) <= plugin_thread.DEPTH + 3


def test_events_that_are_told_once_are_not_lost_with_the_oldest(plugin):
    thread = plugin_thread.PluginThread('slow', plugin)
    plugin.may_go.clear()
    thread.start()
    for number in range(100):
        thread.put([*batch(number), ('on_gone', (f'server-{number}',))])
    plugin.may_go.set()
    thread.wait()
    thread.stop()
    assert {*plugin.gone} == {f'server-{number}' for number in range(100)}
    assert len(plugin.gone) == 100


def test_a_plugin_that_raises_is_named_and_off_in_the_end(plugin, caplog):
    thread = plugin_thread.PluginThread('wrong', plugin)
    plugin.fails = True
    for number in range(10):
        thread.deliver(batch(number))
    assert thread.guard.off
    errors = [each.getMessage() for each in caplog.records]
    assert len(errors) == plugin_breaker.LIMIT + 1
    assert all('wrong' in each for each in errors)
    plugin.fails = False
    thread.deliver(batch(10))
    assert plugin.seen == []
    thread.guard.restart()
    thread.deliver(batch(11))
    assert plugin.seen == [11]


def test_a_failure_now_and_then_is_forgiven(plugin):
    thread = plugin_thread.PluginThread('moody', plugin)
    for number in range(20):
        plugin.fails = number % 2 == 0
        thread.deliver(batch(number))
    assert thread.guard.off is None
    assert plugin.seen == [*range(1, 20, 2)]


def test_a_plugin_that_is_off_is_closed_too(plugin):
    thread = plugin_thread.PluginThread('wrong', plugin)
    plugin.fails = True
    for number in range(10):
        thread.deliver(batch(number))
    thread.start()
    thread.stop()
    assert plugin.seen == ['closed']
