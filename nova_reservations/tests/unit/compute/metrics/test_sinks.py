# SPDX-License-Identifier: Apache-2.0
"""The plugins that send metrics, with a receiver for each."""

import json
import re
import socket
import time
import urllib.error
import urllib.request

import msgpack
from nova import rpc
import oslo_messaging
from prometheus_client import parser
import pytest

from nova_reservations.compute.metrics import ceilometer
from nova_reservations.compute.metrics import driver_stats
from nova_reservations.compute.metrics import prometheus
from nova_reservations.compute.metrics import samples
from nova_reservations.compute.metrics import statsd
from nova_reservations.compute.metrics import udp
from nova_reservations.tests.unit.compute.metrics import builders

MIB = 1024 * 1024


def feed(plugin, server, minutes=1):
    """Give a plugin the readings of a driver, minute by minute."""
    before = None
    for minute in range(minutes + 1):
        reading = driver_stats.from_dict(
            {
                'cpu0_time': minute * 30_000_000_000,
                'memory': 2048 * 1024,
                'memory-actual': 1024 * 1024,
                'memory-available': 1000 * 1024,
                'memory-unused': 400 * 1024,
                'vda_read': minute * 600,
                'vda_read_req': minute * 6,
                'vda_write': 0,
                'vda_write_req': 0,
                'tap0_rx': minute * 60_000,
                'tap0_rx_packets': minute * 60,
                'tap0_tx': 0,
                'tap0_tx_packets': 0,
            }
        )
        for method, measured in samples.of_server(
            reading, before or reading, minute * 60 and 60, 1, 60.0 * minute
        ):
            getattr(plugin, method)(server, measured)
        before = reading
    plugin.flush()


@pytest.fixture
def receiver():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as bound:
        bound.bind(('127.0.0.1', 0))
        bound.setblocking(False)
        yield bound


def received(receiver):
    """Return all packets. On the loopback they arrive when they are sent."""
    packets = []
    while True:
        try:
            packets.append(receiver.recv(65536))
        except BlockingIOError:
            return packets


class TestStatsd:
    @pytest.fixture
    def plugin(self, receiver):
        conf = builders.make_conf(
            metrics_statsd={'port': receiver.getsockname()[1]}
        )
        made = statsd.Statsd('host.example.org', conf)
        yield made
        made.close()

    def test_a_gauge_has_a_dotted_name(self, plugin, receiver):
        feed(plugin, builders.make_server())
        lines = b'\n'.join(received(receiver)).decode().splitlines()
        gauges = dict(line.rsplit(':', 1) for line in lines)
        prefix = 'nova.host_example_org.project-1.server-1'
        assert gauges[f'{prefix}.cpu.percent'] == '50.0|g'
        assert gauges[f'{prefix}.bandwidth.in_bytes_rate'] == '1000.0|g'
        assert all(
            re.fullmatch(r'[\w.-]+:[\d.e+]+\|g', each) for each in lines
        )

    def test_the_host_has_a_shorter_one(self, plugin, receiver):
        plugin.on_cpu(None, builders.make_cpu(5.0, 1))
        plugin.flush()
        lines = b'\n'.join(received(receiver)).splitlines()
        assert b'nova.host_example_org.cpu.percent:5.0|g' in lines

    @pytest.mark.parametrize(
        ('naming', 'expected'),
        [
            (
                'influxdb',
                'nova.cpu.percent,host=host_example_org,project=project-1,'
                'server=server-1,flavor=m1_large:50.0|g',
            ),
            (
                'graphite',
                'nova.cpu.percent;host=host_example_org;project=project-1;'
                'server=server-1;flavor=m1_large:50.0|g',
            ),
        ],
    )
    def test_a_gauge_has_tags_where_naming_says_so(
        self, plugin, receiver, naming, expected
    ):
        plugin.conf.set_override('naming', naming, 'metrics_statsd')
        feed(plugin, builders.make_server())
        lines = b'\n'.join(received(receiver)).decode().splitlines()
        assert expected in lines

    @pytest.mark.parametrize('size', [256, 512, 1432])
    def test_packets_are_full_and_fit_the_mtu(self, plugin, receiver, size):
        plugin.conf.set_override('packet_size', size, 'metrics_statsd')
        for number in range(20):
            feed(plugin, builders.make_server(f'server-{number}'))
        packets = received(receiver)
        longest = max(
            len(line) for each in packets for line in each.splitlines()
        )
        assert all(len(each) <= size for each in packets)
        # Only the last packet of each batch may be short.
        assert sum(len(each) < size - longest - 1 for each in packets) <= 20

    def test_another_port_is_taken_at_a_reload(self, plugin, receiver):
        feed(plugin, builders.make_server())
        assert received(receiver)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
            other.bind(('127.0.0.1', 0))
            port = other.getsockname()[1]
            plugin.conf.set_override('port', port, 'metrics_statsd')
            plugin.on_reload()
            feed(plugin, builders.make_server())
            assert other.recv(65536)
        assert received(receiver) == []


class TestOutages:
    """An outage of the network does not turn a plugin off."""

    @pytest.fixture(params=[('statsd', statsd.Statsd), ('udp', udp.Udp)])
    def plugin(self, request, receiver):
        name, kind = request.param
        conf = builders.make_conf(
            **{f'metrics_{name}': {'port': receiver.getsockname()[1]}}
        )
        made = kind('host1', conf)
        yield made
        made.close()

    def test_a_name_that_is_not_found_is_told_once_and_asked_for_again(
        self, plugin, receiver, monkeypatch, caplog
    ):
        asked = []

        def fails(*args, **kwargs):
            asked.append(args)
            raise socket.gaierror('no name server')

        with monkeypatch.context() as away:
            away.setattr(socket, 'getaddrinfo', fails)
            for _ in range(10):
                feed(plugin, builders.make_server())
        assert len(asked) == 10
        [warning] = caplog.messages
        assert 'no name server' in warning
        feed(plugin, builders.make_server())
        assert received(receiver)


class TestUdp:
    @pytest.fixture
    def plugin(self, receiver):
        conf = builders.make_conf(
            metrics_udp={'port': receiver.getsockname()[1]}
        )
        made = udp.Udp('host1', conf)
        yield made
        made.close()

    @pytest.mark.parametrize(
        ('encoding', 'decode'),
        [('json', json.loads), ('msgpack', msgpack.unpackb)],
    )
    def test_a_datagram_is_a_whole_measurement(
        self, plugin, receiver, encoding, decode
    ):
        plugin.conf.set_override('encoding', encoding, 'metrics_udp')
        feed(plugin, builders.make_server())
        documents = [decode(each) for each in received(receiver)]
        [cpu] = [
            each
            for each in documents
            if each['metric'] == 'cpu' and each['at'] == 60
        ]
        assert cpu == {
            'metric': 'cpu',
            'host': 'host1',
            'server': 'server-1',
            'name': 'web',
            'project': 'project-1',
            'flavor': 'm1.large',
            'at': 60.0,
            'time': 30_000_000_000,
            'vcpus': 1,
            'percent': 50.0,
        }

    def test_a_packet_that_is_too_long_goes_without_its_parts(
        self, plugin, receiver
    ):
        plugin.conf.set_override('packet_size', 512, 'metrics_udp')
        disks = {
            f'vd{number}': dict.fromkeys(samples.DISK_COUNTERS, 2**40)
            for number in range(100)
        }
        reading = driver_stats.Reading(disks=disks)
        [(_, measured)] = samples.of_server(reading, reading, 1, 1, 7.0)
        plugin.on_volume(builders.make_server(), measured)
        [packet] = received(receiver)
        assert len(packet) <= 512
        document = json.loads(packet)
        assert document['read_bytes'] == 100 * 2**40
        assert 'each' not in document

    def test_an_audit_is_sent_too(self, plugin, receiver):
        plugin.on_resources('node', {'vcpus': 8}, {'vcpus_used': 12})
        [packet] = received(receiver)
        assert json.loads(packet) == {
            'metric': 'resources',
            'host': 'host1',
            'node': 'node',
            'reported': {'vcpus': 8},
            'claimed': {'vcpus_used': 12},
        }


def free_port():
    with socket.socket() as bound:
        bound.bind(('127.0.0.1', 0))
        return bound.getsockname()[1]


class TestPrometheus:
    @pytest.fixture
    def conf(self):
        return builders.make_conf(metrics_prometheus={'port': free_port()})

    @pytest.fixture
    def plugin(self, conf):
        made = prometheus.Prometheus('host1', conf)
        yield made
        made.close()

    def page(self, conf):
        port = conf.metrics_prometheus.port
        url = f'http://127.0.0.1:{port}/metrics'
        with urllib.request.urlopen(url) as answer:
            text = answer.read().decode()
        found = {}
        for family in parser.text_string_to_metric_families(text):
            for sample in family.samples:
                key = sample.name, tuple(sorted(sample.labels.items()))
                assert key not in found
                found[key] = sample.value
        return found

    def test_the_page_tells_of_servers_in_base_units(self, conf, plugin):
        feed(plugin, builders.make_server())
        found = self.page(conf)
        labels = (
            ('flavor', 'm1.large'),
            ('host', 'host1'),
            ('project', 'project-1'),
            ('server', 'server-1'),
        )
        assert found['nova_server_cpu_seconds_total', labels] == (
            pytest.approx(30)
        )
        assert found['nova_server_cpu_percent', labels] == 50
        assert found['nova_server_ram_used_bytes', labels] == 600 * MIB
        assert found['nova_server_volume_read_bytes_total', labels] == 600
        assert found['nova_server_bandwidth_in_packets_total', labels] == 60
        assert not [name for name, _ in found if 'rate' in name]

    def test_of_the_host_and_of_what_is_claimed(self, conf, plugin):
        plugin.on_cpu(None, builders.make_cpu(5.0, 1))
        plugin.on_resources('node', {'vcpus': 8}, {'vcpus_used': 12})
        plugin.flush()
        found = self.page(conf)
        assert found['nova_host_cpu_percent', (('host', 'host1'),)] == 5
        labels = ('host', 'host1'), ('node', 'node'), ('resource', 'vcpus')
        assert found['nova_node_reported', labels] == 8

    def test_a_server_that_left_is_gone(self, conf, plugin):
        server = builders.make_server()
        feed(plugin, server)
        plugin.on_gone(server)
        assert self.page(conf) == {}

    def test_a_resize_makes_no_second_server(self, conf, plugin):
        feed(plugin, builders.make_server(flavor='small'))
        feed(plugin, builders.make_server(flavor='large'))
        flavors = {dict(labels)['flavor'] for _, labels in self.page(conf)}
        assert flavors == {'large'}

    def test_two_computes_of_one_process_share_the_page(self, conf, plugin):
        other = prometheus.Prometheus('host2', conf)
        for each in (plugin, other):
            each.on_cpu(None, builders.make_cpu(5.0, 1))
            each.flush()
        assert len(self.page(conf)) == 6
        other.close()
        assert len(self.page(conf)) == 3

    def test_the_page_moves_to_another_port_at_a_change(self, conf, plugin):
        plugin.flush()
        old = conf.metrics_prometheus.port
        conf.set_override('port', free_port(), 'metrics_prometheus')
        plugin.flush()
        assert self.page(conf) == {}
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(('127.0.0.1', old))

    def test_nobody_listens_once_the_plugin_is_closed(self, conf, plugin):
        plugin.flush()
        plugin.close()
        with pytest.raises(urllib.error.URLError):
            self.page(conf)


class TestCeilometer:
    @pytest.fixture
    def transport(self):
        return oslo_messaging.get_notification_transport(
            builders.make_conf(), url='fake:/'
        )

    @pytest.fixture
    def emitted(self, transport):
        """Return the messages of a listener like Ceilometer's."""
        got = []

        class Endpoint:
            filter_rule = oslo_messaging.NotificationFilter(
                event_type='telemetry.polling'
            )

            def sample(self, messages):
                got.extend(messages)

        listener = oslo_messaging.get_batch_notification_listener(
            transport,
            [oslo_messaging.Target(topic='notifications')],
            [Endpoint()],
            executor='threading',
            batch_size=1,
        )
        listener.start()
        yield got
        listener.stop()
        listener.wait()

    @pytest.fixture
    def plugin(self, transport, monkeypatch):
        monkeypatch.setattr(rpc, 'NOTIFICATION_TRANSPORT', transport)
        return ceilometer.Ceilometer('host1', builders.make_conf())

    def arrived(self, emitted, count=1):
        """Wait for so many payloads: the listener has its own thread."""
        deadline = time.monotonic() + 30
        while len(emitted) < count:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        return [message['payload'] for message in emitted]

    def test_samples_go_as_ceilometers_own_agents_send_them(
        self, plugin, emitted
    ):
        feed(plugin, builders.make_server())
        [payload] = self.arrived(emitted)
        samples_of = {
            (each['counter_name'], each['timestamp']): each
            for each in payload['samples']
        }
        cpu = samples_of['cpu', '1970-01-01T00:01:00+00:00']
        # Ceilometer's notification agent expects these keys without a check.
        assert {
            'counter_name': 'cpu',
            'counter_type': 'cumulative',
            'counter_unit': 'ns',
            'counter_volume': 30_000_000_000,
            'user_id': 'user-1',
            'project_id': 'project-1',
            'resource_id': 'server-1',
            'source': 'openstack',
        }.items() <= cpu.items()
        assert cpu['message_id']
        metadata = cpu['resource_metadata']
        assert metadata['display_name'] == 'web'
        assert metadata['flavor']['name'] == 'm1.large'
        assert metadata['cpu_number'] == 1

    def test_resources_have_the_ids_that_gnocchi_knows(self, plugin, emitted):
        feed(plugin, builders.make_server())
        resources = {
            each['counter_name']: each['resource_id']
            for payload in self.arrived(emitted)
            for each in payload['samples']
        }
        disk, nic = 'server-1-vda', 'instance-00000001-server-1-tap0'
        assert resources == {
            'cpu': 'server-1',
            'vcpus': 'server-1',
            'memory': 'server-1',
            'memory.usage': 'server-1',
            'disk.device.read.bytes': disk,
            'disk.device.read.requests': disk,
            'disk.device.write.bytes': disk,
            'disk.device.write.requests': disk,
            'network.incoming.bytes': nic,
            'network.incoming.packets': nic,
            'network.outgoing.bytes': nic,
            'network.outgoing.packets': nic,
        }

    def test_a_notification_has_a_hundred_samples_at_most(
        self, plugin, emitted
    ):
        for number in range(30):
            server = builders.make_server(f'server-{number}')
            plugin.on_cpu(server, builders.make_cpu(5.0, 1))
            plugin.on_ram(
                server,
                {'at': 1, 'balloon': 1, 'used': 1, 'resident': 1},
            )
        plugin.flush()
        payloads = self.arrived(emitted, 2)
        assert [len(each['samples']) for each in payloads] == [100, 50]
        names = [
            each['message_id'] for sent in payloads for each in sent['samples']
        ]
        assert len(set(names)) == 150
