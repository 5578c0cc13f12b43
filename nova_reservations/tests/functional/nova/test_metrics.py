# SPDX-License-Identifier: Apache-2.0
"""Metric plugins in nova-compute; the tests read what they send from a real
socket.
"""

from collections.abc import Callable
import json
import pathlib
import socket
import sys
import threading
from typing import Any
from typing import ClassVar

import fixtures
from nova import context as nova_context
from nova import objects
import nova.conf
from nova.virt import fake

from nova_reservations import conf
from nova_reservations.compute import notifier
from nova_reservations.compute.metrics import collector
from nova_reservations.compute.metrics import service
from nova_reservations.tests.examples import busiest
from nova_reservations.tests.functional.nova import base

CONF = nova.conf.CONF

MIB = 1024 * 1024
#: The memory that Nova's fake driver reports for each server.
SERVER_RAM = 512 * MIB


def threads() -> list[str]:
    """Return the names of our threads."""
    return [
        thread.name
        for thread in threading.enumerate()
        if thread.name.startswith('metrics')
    ]


class MetricsTestCase(base.NovaTestCase):
    """:cvar enabled: the plugins that nova.conf enables."""

    hosts = ('host1',)
    enabled: ClassVar[list[str]] = ['udp', 'threshold']

    def setUp(self) -> None:
        # The notification driver would do this; Nova's fixtures replace the
        # driver.
        conf.register_opts(CONF)
        notifier.install('compute')
        self.receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.addCleanup(self.receiver.close)
        self.receiver.bind(('127.0.0.1', 0))
        self.receiver.settimeout(30)
        self.flags(enabled=self.enabled, interval=1, group='metrics_plugins')
        self.flags(port=self.receiver.getsockname()[1], group='metrics_udp')
        super().setUp()

    @property
    def compute(self) -> Any:
        return self.computes['host1'].manager

    @property
    def measuring(self) -> collector.Collector | None:
        return service.of(self.compute.rt)

    def audit(self) -> None:
        self.compute.update_available_resource(
            nova_context.get_admin_context()
        )

    def receive(self, **wanted: Any) -> dict[str, Any]:
        """Return the next measurement that has these values."""
        while True:
            found: dict[str, Any] = json.loads(self.receiver.recv(65536))
            if wanted.items() <= found.items():
                return found

    def wait_for(self, assertion: Callable[[], None]) -> None:
        """Wait for some rounds, which take longer on a busy machine."""
        self._wait_for_assert(assertion, max_retries=60)

    def crossings(self) -> list[tuple[str, str]]:
        """Return type and server of each notification of the plugin
        threshold."""
        return [
            (each.event_type, each.payload.get('instance_id', ''))
            for each in self.notifier.notifications
            if '.metric.' in each.event_type
        ]


class TestMeasuring(MetricsTestCase):
    def test_a_server_is_measured_while_it_is_there(self):
        server = self.boot()
        measured = self.receive(metric='bandwidth', server=server['id'])
        assert measured['project'] == base.MINE
        assert measured['name'] == server['name']
        assert measured['in_bytes'] == 2070139
        assert measured['each']['vnet1']['out_packets'] == 662
        self.receive(metric='cpu', server=server['id'], percent=0.0)
        self._delete_server(server)
        # One round may have begun before the deletion.
        self._skip_rounds(2)
        measured = self._skip_rounds(2)
        assert not [each for each in measured if 'server' in each]

    def _skip_rounds(self, rounds: int) -> list[dict[str, Any]]:
        """Return the measurements of this many rounds; the host's own ends a
        round."""
        found = []
        while rounds:
            found.append(json.loads(self.receiver.recv(65536)))
            last = found[-1]
            rounds -= last['metric'] == 'cpu' and 'server' not in last
        return found

    def test_the_host_is_measured(self):
        cpu = self.receive(metric='cpu', host='host1')
        assert cpu['frequency'] == 800
        assert 'server' not in cpu
        assert self.receive(metric='bandwidth')['each']

    def test_an_audit_is_handed_on(self):
        server = self.boot()
        self.audit()
        found = self.receive(metric='resources')
        while found['claimed']['running_vms'] != 1:
            found = self.receive(metric='resources')
        node = objects.ComputeNode.get_first_node_by_host_for_old_compat(
            nova_context.get_admin_context(), 'host1'
        )
        flavor = self.admin_api.get_server(server['id'])['flavor']
        assert found['node'] == node.hypervisor_hostname
        assert found['claimed'] == {
            'vcpus_used': flavor['vcpus'],
            'memory_mb_used': flavor['ram'] + CONF.reserved_host_memory_mb,
            'local_gb_used': flavor['disk'],
            'running_vms': 1,
        }
        reported = fake.MediumFakeDriver
        assert found['reported']['vcpus'] == reported.vcpus
        assert found['reported']['memory_mb'] == reported.memory_mb
        # The fake hypervisor itself counts the servers that it was given.
        assert found['reported']['vcpus_used'] == flavor['vcpus']
        self.audit()
        ram = self.receive(metric='ram', total=reported.memory_mb * MIB)
        assert 'server' not in ram

    def test_novas_volume_poll_is_handed_on(self):
        server = self.boot()
        context = nova_context.get_admin_context()
        self.receive(metric='cpu', server=server['id'])
        usage = {
            'instance': objects.Instance.get_by_uuid(context, server['id']),
            'volume': server['id'],
            'rd_req': 1,
            'rd_bytes': 2,
            'wr_req': 3,
            'wr_bytes': 4,
        }
        self.compute._update_volume_usage_cache(context, [usage])
        found = self.receive(metric='volume', kind='volume')
        assert found['server'] == server['id']
        assert found['write_bytes'] == 4
        assert [*found['each']] == [server['id']]

    def test_a_driver_that_hangs_holds_up_nothing_of_novas(self):
        server = self.boot()
        asked, go_on = threading.Event(), threading.Event()
        self.addCleanup(go_on.set)

        def hang(instance):
            asked.set()
            go_on.wait()
            return {}

        self.compute.driver.get_diagnostics = hang
        assert asked.wait(30)
        self.audit()
        self._delete_server(server)
        assert not go_on.is_set()

    def test_measuring_ends_with_its_compute(self):
        measuring = self.measuring
        assert measuring is not None
        self.receive(metric='cpu')
        self.computes['host1'].stop()
        self.wait_for(lambda: self.assertEqual([], threads()))
        assert self.measuring is None


class TestThresholds(MetricsTestCase):
    def test_metadata_are_obeyed_from_the_next_audit_on(self):
        server = self.boot()
        self.receive(metric='ram', server=server['id'])
        assert self.crossings() == []
        key = 'reservations_limit:ram'
        path = f'/servers/{server["id"]}/metadata'
        for text, expected in (
            ('ram.total over 100MiB', ['server.metric.exceeded']),
            (
                'ram.total over 1GiB',
                ['server.metric.exceeded', 'server.metric.cleared'],
            ),
        ):
            self.api.api_post(path, {'metadata': {key: text}})
            self.audit()
            self.wait_for(
                lambda expected=expected: self.assertEqual(
                    [(each, server['id']) for each in expected],
                    self.crossings(),
                )
            )

    def test_a_flavor_says_what_its_servers_may_use(self):
        flavor = self._create_flavor(
            extra_spec={'reservations_limit:ram': 'ram.total over 100MiB'}
        )
        server = self.boot(flavor_id=flavor)
        other = self.boot()
        self.wait_for(
            lambda: self.assertEqual(
                [('server.metric.exceeded', server['id'])], self.crossings()
            )
        )
        # A round that measured the other server has passed as well.
        self.receive(metric='ram', server=other['id'])
        assert len(self.crossings()) == 1


class TestExample(MetricsTestCase):
    """The plugin that the documentation prints."""

    enabled: ClassVar[list[str]] = ['busiest']

    def setUp(self):
        directory = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.file = directory / 'busiest'
        # pip leaves such a folder behind.
        package = directory / 'example-1.0.dist-info'
        package.mkdir()
        (package / 'METADATA').write_text('Name: example\nVersion: 1.0\n')
        (package / 'entry_points.txt').write_text(
            '[nova_reservations.metrics]\n'
            'busiest = nova_reservations.tests.examples.busiest:Busiest\n'
        )
        self.useFixture(
            fixtures.MonkeyPatch('sys.path', [*sys.path, str(directory)])
        )
        # stevedore reads entry points once per process.
        self.useFixture(
            fixtures.MonkeyPatch(
                'stevedore.ExtensionManager.ENTRY_POINT_CACHE', {}
            )
        )
        super().setUp()

    def test_the_example_does_what_it_says(self):
        assert self.measuring is not None
        self.flags(file=str(self.file), group='busiest')
        server = self.boot()
        self.wait_for(
            lambda: self.assertEqual(
                f'0.0 {server["id"]}\n',
                self.file.exists() and self.file.read_text(),
            )
        )
        self.computes['host1'].stop()
        self.wait_for(lambda: self.assertFalse(self.file.exists()))

    def test_the_example_is_short(self):
        source = pathlib.Path(busiest.__file__).read_text()
        assert len(source.splitlines()) < 60


class TestNobodyAsks(MetricsTestCase):
    enabled: ClassVar[list[str]] = []

    def test_nothing_runs(self):
        self.boot()
        self.audit()
        assert self.measuring is None
        assert threads() == []


class TestUnknownName(MetricsTestCase):
    enabled: ClassVar[list[str]] = ['nonsense', 'udp']

    def test_the_rest_is_loaded(self):
        assert self.measuring is not None
        assert [*self.measuring.threads] == ['udp']
        [line] = [
            each
            for each in self.stdlog.logger.output.splitlines()
            if 'nonsense' in each and 'ERROR' in each
        ]
        assert '[metrics_plugins] enabled names nonsense' in line
        assert self.receive(metric='cpu')
