# SPDX-License-Identifier: Apache-2.0
"""Notifications from a message broker that has other listeners, too."""

import os
import pathlib
import shutil
import sys
import threading
import uuid

import kombu
from nova import rpc
from oslo_config import cfg
import oslo_messaging
from oslo_messaging import conffixture
import pytest
from stevedore import extension

from nova_reservations import bootstrap
from nova_reservations.cloud import listener
from nova_reservations.db import migration
from nova_reservations.db.resources import conditions
from nova_reservations.plugins.monitors import base
from nova_reservations.scheduler import loop
from nova_reservations.testing import fake_cloud
from nova_reservations.testing import options
from nova_reservations.tests.examples import installed
from nova_reservations.tests.examples import licences as examples

URL = os.environ.get(
    'NOVA_RESERVATIONS_TEST_RABBIT', 'rabbit://guest:guest@127.0.0.1:5672/'
)


@pytest.fixture
def transport(monkeypatch):
    try:
        kombu.Connection(URL.replace('rabbit', 'amqp', 1)).ensure_connection(
            max_retries=1, timeout=5
        )
    except kombu.exceptions.OperationalError as error:
        pytest.skip(f'no message broker: {error}')
    # The queue has a name of its own: others may use the broker as well.
    monkeypatch.setattr(listener, 'POOL', f'test-{uuid.uuid4()}')
    conf = cfg.ConfigOpts()
    conf([], default_config_files=[])
    with conffixture.ConfFixture(conf):
        # The exchange is the test's own: exchanges of others stay on the
        # broker.
        conf.set_override('control_exchange', f'test-{uuid.uuid4()}')
        transport = oslo_messaging.get_notification_transport(conf, url=URL)
        conf.set_override('amqp_auto_delete', True, 'oslo_messaging_rabbit')
        yield transport
        transport.cleanup()


class Heard:
    """Records notifications that were received, and can wait for them."""

    def __init__(self):
        self.events = []
        self.sources = []
        self._came = threading.Condition()

    def __call__(self, event_type, payload, exchange=None, priority='info'):
        with self._came:
            self.events.append((event_type, payload['host']))
            self.sources.append((exchange, priority))
            self._came.notify_all()

    def wait_for(self, count):
        with self._came:
            assert self._came.wait_for(
                lambda: len(self.events) >= count, timeout=60
            )
        return self.events


class Other:
    """A listener of another service, which uses no pool."""

    def __init__(self, heard):
        self._heard = heard

    def info(self, context, publisher_id, event_type, payload, metadata):
        self._heard(event_type, payload)


def notify(transport, exchange, topic, priority, event_type, payload):
    """Send a notification as a service with this control_exchange."""
    transport._send_notification(
        oslo_messaging.Target(topic=f'{topic}.{priority}', exchange=exchange),
        {},
        {
            'publisher_id': 'somebody',
            'priority': priority.upper(),
            'event_type': event_type,
            'payload': payload,
        },
        version=2.0,
    )


def test_messages_are_each_for_one_of_ours_and_nobody_else_misses_them(
    transport,
):
    topic = f'test-{uuid.uuid4()}'
    ours, others = Heard(), Heard()
    listeners = [
        listener.Listener(
            transport, [base.Subscription(topic, ['service.update'])], ours
        )
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


def test_exchanges_and_priorities_are_heard_as_they_are_wanted(transport):
    topic, exchange = f'test-{uuid.uuid4()}', f'test-{uuid.uuid4()}'
    heard = Heard()
    ours = listener.Listener(
        transport,
        [
            base.Subscription(topic, ['service.update'], priorities=['warn']),
            base.Subscription(topic, ['disk.failed'], exchange, ['error']),
            base.Subscription(topic, ['service.update'], exchange),
        ],
        heard,
    )
    ours.start()

    def send(to, priority, event_type, host):
        notify(transport, to, topic, priority, event_type, {'host': host})

    try:
        send(None, 'info', 'service.update', 'unwanted')
        send(None, 'warn', 'disk.failed', 'unwanted')
        send(exchange, 'info', 'disk.failed', 'unwanted')
        send(exchange, 'error', 'service.update', 'unwanted')
        send(None, 'warn', 'service.update', 'one')
        send(exchange, 'error', 'disk.failed', 'two')
        send(exchange, 'info', 'service.update', 'three')
        events = heard.wait_for(3)
    finally:
        ours.stop()
    assert sorted(zip(heard.sources, events, strict=True), key=str) == sorted(
        [
            ((None, 'warn'), ('service.update', 'one')),
            ((exchange, 'error'), ('disk.failed', 'two')),
            ((exchange, 'info'), ('service.update', 'three')),
        ],
        key=str,
    )


class TestMonitorOfAnotherPackage:
    """The example of the guide, installed as it is printed there."""

    @pytest.fixture
    def site(self, tmp_path, monkeypatch):
        """A folder of installed packages, outside the source tree."""
        site = tmp_path / 'site'
        site.mkdir()
        project = pathlib.Path(examples.__file__).parent
        for name in ('licences.py', 'licence_monitor.py'):
            shutil.copy(project / name, site)
        installed.leave(project, site)
        monkeypatch.syspath_prepend(site)
        # stevedore would use the entry points that it has read before.
        monkeypatch.setattr(
            extension.ExtensionManager, 'ENTRY_POINT_CACHE', {}
        )
        yield site
        for name in ('licences', 'licence_monitor'):
            sys.modules.pop(name, None)

    @pytest.fixture
    def services(self, site, tmp_path):
        conf = options.defaults()
        conf.set_override(
            'connection', f'sqlite:///{tmp_path}/r.db', group='reservations'
        )
        conf.set_override(
            'resource_types', ['example:licence'], group='reservations'
        )
        services = bootstrap.build(
            conf, nova=fake_cloud.FakeCloud(), notify=lambda *_: None
        )
        migration.sync(services.database)
        yield services
        services.database.dispose()

    def test_a_monitor_is_loaded_by_its_entry_point_and_hears(
        self, site, services, transport, monkeypatch
    ):
        for name in ('licences', 'licence_monitor'):
            assert pathlib.Path(sys.modules[name].__file__).parent == site
        exchange = f'test-{uuid.uuid4()}'
        monkeypatch.setattr(
            sys.modules['licence_monitor'], 'EXCHANGE', exchange
        )
        monkeypatch.setattr(rpc, 'NOTIFICATION_TRANSPORT', transport)
        heard = threading.Event()
        record = services.monitoring.record

        def recorded(*args):
            record(*args)
            heard.set()

        monkeypatch.setattr(services.monitoring, 'record', recorded)
        services.resources.add(
            'example:licence', 'one', services.database.now(), {'SEATS': 5}
        )
        ours = loop._listener(services)
        ours.start()
        try:
            notify(
                transport,
                exchange,
                'notifications',
                'warn',
                'licence.revoked',
                {'licence': 'one'},
            )
            assert heard.wait(timeout=60)
        finally:
            ours.stop()
        with services.database.reader() as session:
            [known] = conditions.known(session, 'example:licence')
        assert known.condition.failed
