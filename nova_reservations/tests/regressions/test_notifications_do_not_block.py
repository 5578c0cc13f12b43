# SPDX-License-Identifier: Apache-2.0
"""A message bus that was down held up every start, and every POST.

By default oslo.messaging retries a notification without end, and the sender
waits for that. Issue 13, item 13.
"""

import subprocess
import sys
import threading

import pytest

from nova_reservations.cloud import notifier
from nova_reservations.cloud import outbox
from nova_reservations.tests.functional.nova import base

SECONDS = 30


class Bus:
    """A message bus that does not answer until the test lets it.

    :ivar sent: event types, in the order in which they were sent.
    """

    def __init__(self):
        self.reached = threading.Event()
        self.up = threading.Event()
        self.sent = []

    def send(self, event_type):
        self.reached.set()
        assert self.up.wait(SECONDS)
        self.sent.append(event_type)


@pytest.fixture
def bus():
    bus = Bus()
    yield bus
    bus.up.set()


def put(box, bus, event_type):
    box.put(lambda: bus.send(event_type))


def test_nobody_waits_for_a_bus_that_is_down(bus):
    box = outbox.Outbox()
    for event_type in ('lease.create', 'lease.event.start_lease'):
        put(box, bus, event_type)
    assert bus.reached.wait(SECONDS)
    assert bus.sent == []
    bus.up.set()
    box.flush(SECONDS)
    assert bus.sent == ['lease.create', 'lease.event.start_lease']


def test_notifications_that_are_too_many_are_lost_and_counted(bus, caplog):
    box = outbox.Outbox(depth=2)
    put(box, bus, 'first')
    assert bus.reached.wait(SECONDS)
    for number in range(5):
        put(box, bus, number)
    assert caplog.text.count('others are lost') == 1
    bus.up.set()
    box.flush(SECONDS)
    assert bus.sent == ['first', 0, 1]
    assert 'Notifications that were lost: 3' in caplog.text


def test_an_end_of_the_process_does_not_wait_for_it(bus, caplog):
    box = outbox.Outbox()
    put(box, bus, 'first')
    assert bus.reached.wait(SECONDS)
    box.flush(patience=0)
    assert 'Notifications that are not sent yet: 1' in caplog.text


ON_EVENTLET = """
import eventlet
eventlet.monkey_patch()
from nova_reservations.cloud import outbox
box = outbox.Outbox()
box.put(lambda: print('sent'))
box.flush()
print('flushed')
"""


def test_an_end_on_eventlet_waits_for_it_too():
    """On eventlet, queue.join() can not be used: it differs from that of
    threads."""
    ended = subprocess.run(
        [sys.executable, '-W', 'ignore', '-c', ON_EVENTLET],
        check=True,
        capture_output=True,
        text=True,
    )
    assert ended.stdout.split() == ['sent', 'flushed']


def test_a_notification_that_fails_does_not_keep_back_the_others(bus):
    box = outbox.Outbox()
    box.put(lambda: 1 / 0)
    bus.up.set()
    put(box, bus, 'next')
    box.flush(SECONDS)
    assert bus.sent == ['next']


class StuckNotifier:
    """Stands in for the process's notifier of oslo.messaging, on such a
    bus."""

    def __init__(self, bus):
        self.bus = bus

    def prepare(self, publisher_id):
        return self

    def info(self, context, event_type, payload):
        self.bus.send(event_type)


class StuckBusTest(base.NovaTestCase):
    def test_a_lease_is_made_and_starts_while_the_bus_is_down(self):
        self.enrol('host1')
        bus = Bus()
        self.addCleanup(bus.up.set)
        self.stub_out('nova.rpc.LEGACY_NOTIFIER', StuckNotifier(bus))
        made = []
        making = threading.Thread(
            target=lambda: made.append(self.lease()), daemon=True
        )
        making.start()
        making.join(SECONDS)
        self.assertEqual(['ACTIVE'], [str(one.status) for one in made])
        self.assertEqual([], bus.sent)
        bus.up.set()
        notifier.OUTBOX.flush(SECONDS)
        self.assertIn('lease.event.start_lease', bus.sent)
