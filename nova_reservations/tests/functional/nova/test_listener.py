# SPDX-License-Identifier: Apache-2.0
"""Notifications by a message broker, beside others who listen."""

import os
import threading
import uuid

import kombu
from oslo_config import cfg
import oslo_messaging
from oslo_messaging import conffixture
import pytest

from nova_reservations.cloud import listener

URL = os.environ.get(
    'NOVA_RESERVATIONS_TEST_RABBIT', 'rabbit://guest:guest@127.0.0.1:5672/'
)


@pytest.fixture
def transport():
    try:
        kombu.Connection(URL.replace('rabbit', 'amqp', 1)).ensure_connection(
            max_retries=1, timeout=5
        )
    except kombu.exceptions.OperationalError as error:
        pytest.skip(f'no message broker: {error}')
    conf = cfg.ConfigOpts()
    conf([], default_config_files=[])
    with conffixture.ConfFixture(conf):
        # Of its own: the broker may have others' exchanges, which stay.
        conf.set_override('control_exchange', f'test-{uuid.uuid4()}')
        transport = oslo_messaging.get_notification_transport(conf, url=URL)
        conf.set_override('amqp_auto_delete', True, 'oslo_messaging_rabbit')
        yield transport
        transport.cleanup()


class Heard:
    """The notifications that were received, and a way to wait for them."""

    def __init__(self):
        self.events = []
        self._came = threading.Condition()

    def __call__(self, event_type, payload):
        with self._came:
            self.events.append((event_type, payload['host']))
            self._came.notify_all()

    def wait_for(self, count):
        with self._came:
            assert self._came.wait_for(
                lambda: len(self.events) >= count, timeout=60
            )
        return self.events


class Other:
    """Somebody else's listener, without a pool."""

    def __init__(self, heard):
        self._heard = heard

    def info(self, context, publisher_id, event_type, payload, metadata):
        self._heard(event_type, payload)


def test_each_message_is_for_one_of_ours_and_nobody_else_misses_it(transport):
    topic = f'test-{uuid.uuid4()}'
    ours, others = Heard(), Heard()
    listeners = [
        listener.Listener(transport, [topic], ['service.update'], ours)
        for _ in range(2)
    ]
    other = oslo_messaging.get_notification_listener(
        transport,
        [oslo_messaging.Target(topic=topic)],
        [Other(others)],
        executor='threading',
    )
    for one in (*listeners, other):
        one.start()
    notifier = oslo_messaging.Notifier(
        transport, 'nova-compute:one', driver='messaging', topics=[topic]
    )
    sent = [
        ('service.update', 'one'),
        ('instance.update', 'one'),
        ('service.update', 'two'),
    ]
    try:
        for event_type, host in sent:
            notifier.info({}, event_type, {'host': host})
        assert sorted(others.wait_for(3)) == sorted(sent)
        assert sorted(ours.wait_for(2)) == [
            ('service.update', 'one'),
            ('service.update', 'two'),
        ]
    finally:
        for one in listeners:
            one.stop()
        other.stop()
        other.wait()
