# SPDX-License-Identifier: Apache-2.0
import logging

from nova import exception
from nova import objects
from nova.objects import flavor as flavor_objects
from nova.virt import driver as virt_driver
from nova.virt import fake
import pytest

from nova_reservations.compute.metrics import base
from nova_reservations.compute.metrics import collector
from nova_reservations.compute.metrics import driver_reader
from nova_reservations.compute.metrics import plugin_thread
from nova_reservations.compute.metrics import samples
from nova_reservations.compute.metrics import servers
from nova_reservations.tests.unit.compute.metrics import builders


class Driver(fake.FakeDriver):
    """Nova's fake driver; records its calls, and answers as a test says."""

    def __init__(self):
        self.asked = []
        self.answers = {}

    def get_diagnostics(self, instance):
        return self._answer('get_diagnostics', instance)

    def get_instance_diagnostics(self, instance):
        return self._answer('get_instance_diagnostics', instance)

    def get_host_cpu_stats(self):
        return self._answer('get_host_cpu_stats')

    def _answer(self, method, *arguments):
        self.asked.append(method)
        answer = self.answers.get(method)
        if isinstance(answer, Exception):
            raise answer
        if answer is not None:
            return answer
        return getattr(super(), method)(*arguments)


class Recorder(base.MetricPlugin):
    """Remembers what it was called with."""

    def __init__(self, host='host1', conf=None):
        super().__init__(host, conf)
        self.calls = []

    def __getattribute__(self, name):
        if name.startswith('on_'):
            return lambda *given: self.calls.append((name, *given))
        return super().__getattribute__(name)


class SynchronousPluginThread(plugin_thread.PluginThread):
    def put(self, batch):
        self.deliver(batch)


def make_instance(uuid='server-1', **fields):
    flavor = flavor_objects.Flavor(
        flavorid='3',
        name='m1.large',
        vcpus=4,
        memory_mb=2048,
        root_gb=20,
        ephemeral_gb=0,
        extra_specs={'tier': 'gold'},
    )
    return objects.Instance(
        uuid=uuid,
        id=1,
        display_name='web',
        project_id='project-1',
        user_id='user-1',
        host='host1',
        image_ref='',
        vm_state='active',
        flavor=flavor,
        **fields,
    )


@pytest.fixture
def driver():
    return Driver()


@pytest.fixture
def recorder():
    return Recorder()


@pytest.fixture
def measuring(driver, recorder):
    objects.register_all()
    made = collector.Collector(
        'host1', driver, servers.Servers(), builders.make_conf()
    )
    made.threads = {'recorder': SynchronousPluginThread('recorder', recorder)}
    made.servers.replace('node', [make_instance()])
    return made


def at(seconds):
    return samples.Moment(at=1000.0 + seconds, monotonic=float(seconds))


def of_servers(recorder):
    """Return (method, UUID) of the calls that are about servers."""
    return [
        (call[0], call[1].uuid)
        for call in recorder.calls
        if isinstance(call[1], base.Server)
    ]


KINDS = ('on_cpu', 'on_ram', 'on_volume', 'on_bandwidth')


def test_a_round_is_one_question_for_each_server(measuring, driver, recorder):
    measuring.servers.replace('node', map(make_instance, 'abc'))
    measuring.round(at(0))
    assert driver.asked == ['get_diagnostics'] * 3 + ['get_host_cpu_stats']
    assert of_servers(recorder) == [
        (kind, uuid) for uuid in 'abc' for kind in KINDS
    ]


def test_a_plugin_gets_what_nova_knows_of_a_server(measuring, recorder):
    measuring.round(at(0))
    assert recorder.calls[0][1] == builders.make_server(
        node='node', image_ref='', extra_specs={'tier': 'gold'}
    )


def test_rates_are_since_the_round_before(measuring, driver, recorder):
    for minute in range(3):
        driver.answers['get_diagnostics'] = {
            'cpu0_time': minute * 60 * 10**9,
            'tap0_rx': minute * 6000,
        }
        measuring.round(at(60 * minute))
    percents = [
        call[2]['percent']
        for call in recorder.calls
        if call[0] == 'on_cpu' and call[1]
    ]
    rates = [
        call[2]['in_bytes_rate']
        for call in recorder.calls
        if call[0] == 'on_bandwidth' and call[1]
    ]
    assert percents == [None, 25, 25]
    assert rates == [None, 100, 100]


def test_a_driver_that_can_not_tell_is_asked_once(
    measuring, driver, recorder, caplog
):
    caplog.set_level(logging.INFO)
    for method in (
        'get_diagnostics',
        'get_instance_diagnostics',
        'get_host_cpu_stats',
    ):
        driver.answers[method] = NotImplementedError()
    for second in range(5):
        measuring.round(at(second))
    assert sorted(driver.asked) == [
        'get_diagnostics',
        'get_host_cpu_stats',
        'get_instance_diagnostics',
    ]
    assert of_servers(recorder) == []
    assert [each.getMessage() for each in caplog.records] == [
        'The virt driver does not tell of servers',
        'The virt driver does not tell of the CPUs of the host',
    ]


def test_novas_own_base_class_is_such_a_driver(recorder):
    """The drivers of ironic and zvm inherit this method."""
    interview = driver_reader.DriverReader(virt_driver.ComputeDriver(None))
    assert interview.server(make_instance()) is None
    assert interview.host_cpu() is None


@pytest.mark.parametrize(
    'answer', [NotImplementedError(), {'vmware:memorySizeMB': 512}]
)
def test_the_second_way_is_taken_if_the_first_is_of_no_use(
    measuring, driver, recorder, answer
):
    driver.answers['get_diagnostics'] = answer
    for second in range(3):
        measuring.round(at(second))
    assert driver.asked.count('get_diagnostics') == 1
    assert driver.asked.count('get_instance_diagnostics') == 3
    assert len(of_servers(recorder)) == 3 * len(KINDS)


def test_a_server_that_is_not_there_yet_is_passed_over(
    measuring, driver, recorder, caplog
):
    driver.answers['get_diagnostics'] = exception.InstanceNotFound(
        instance_id='server-1'
    )
    measuring.round(at(0))
    assert of_servers(recorder) == []
    assert caplog.records == []


def test_a_driver_that_fails_is_told_once_until_it_recovers(
    measuring, driver, recorder, caplog
):
    measuring.servers.replace('node', map(make_instance, 'abc'))
    for second, answer in enumerate(
        (OSError('x'), OSError('x'), None, OSError('y'))
    ):
        driver.answers['get_diagnostics'] = answer
        measuring.round(at(second))
    warnings = [
        each.getMessage()
        for each in caplog.records
        if each.levelno == logging.WARNING
    ]
    assert warnings == [
        'get_diagnostics of a failed: x',
        'get_diagnostics of a failed: y',
    ]
    assert len(of_servers(recorder)) == 3 * len(KINDS)


def test_a_server_that_left_is_told_once(measuring, recorder):
    measuring.round(at(0))
    measuring.servers.discard('server-1')
    measuring.round(at(1))
    measuring.round(at(2))
    assert of_servers(recorder)[len(KINDS) :] == [('on_gone', 'server-1')]


def test_a_server_that_comes_back_has_no_rate_of_its_absence(
    measuring, recorder
):
    measuring.round(at(0))
    measuring.servers.discard('server-1')
    measuring.round(at(60))
    measuring.servers.add('node', make_instance())
    recorder.calls.clear()
    measuring.round(at(120))
    assert recorder.calls[0][2]['percent'] is None


def test_an_audit_of_one_node_leaves_the_others(measuring, recorder):
    measuring.servers.replace('other', [make_instance('server-2')])
    measuring.servers.replace('node', [])
    measuring.round(at(0))
    assert {uuid for _, uuid in of_servers(recorder)} == {'server-2'}


def test_a_claim_does_not_forget_the_metadata(measuring, recorder):
    measuring.servers.replace('node', [make_instance(metadata={'team': 'a'})])
    measuring.round(at(0))
    measuring.servers.add('node', make_instance())
    measuring.round(at(60))
    seen = {id(call[1]): call[1] for call in recorder.calls if call[1]}
    assert [each.metadata for each in seen.values()] == [{'team': 'a'}] * 2


def test_a_volume_of_a_server_that_is_unknown_is_left_out(measuring, recorder):
    measuring.round(at(0))
    recorder.calls.clear()
    measuring.hand_on_volumes(
        {
            'instance': make_instance(uuid),
            'volume': 'volume-1',
            'rd_req': 1,
            'rd_bytes': 2,
            'wr_req': 3,
            'wr_bytes': 4,
        }
        for uuid in ('server-1', 'unknown')
    )
    [(method, server, measured)] = recorder.calls
    assert (method, server.uuid) == ('on_volume', 'server-1')
    assert measured['kind'] == 'volume'
    assert measured['read_requests'] == 1


class TestChoice:
    @pytest.fixture
    def file(self, tmp_path):
        made = tmp_path / 'nova.conf'
        made.write_text('[metrics_plugins]\nenabled = udp\n')
        return made

    @pytest.fixture
    def measuring(self, file, driver):
        made = collector.Collector(
            'host1', driver, servers.Servers(), builders.make_conf(file)
        )
        made.choose()
        yield made
        for thread in made.threads.values():
            thread.stop()

    def choose(self, file, measuring, names):
        file.write_text(f'[metrics_plugins]\nenabled = {names}\n')
        measuring.reload()

    def test_plugins_come_and_go_with_the_file(self, file, measuring):
        before = measuring.threads['udp']
        self.choose(file, measuring, 'udp, statsd')
        assert [*measuring.threads] == ['udp', 'statsd']
        assert measuring.threads['udp'] is before
        self.choose(file, measuring, 'statsd')
        assert [*measuring.threads] == ['statsd']
        before._thread.join(10)
        assert not before._thread.is_alive()

    def test_a_change_gives_a_plugin_that_is_off_another_chance(
        self, file, measuring
    ):
        thread = measuring.threads['udp']
        thread.guard.off = 'failed'
        measuring.reload()
        assert measuring.threads['udp'] is thread
        self.choose(file, measuring, 'udp ')
        assert measuring.threads['udp'].guard.off is None
        # The plugin is a new object: the old one has the old options.
        assert measuring.threads['udp'].plugin is not thread.plugin

    def test_a_name_that_nobody_knows_is_one_error(
        self, file, measuring, caplog
    ):
        self.choose(file, measuring, 'udp, nonsense')
        [record] = [
            record for record in caplog.records if record.levelname == 'ERROR'
        ]
        assert 'nonsense' in record.getMessage()
        assert [*measuring.threads] == ['udp']

    def test_metadata_are_read_if_a_plugin_wants_them(self, file, measuring):
        assert not measuring.wants_metadata
        self.choose(file, measuring, 'threshold')
        assert measuring.wants_metadata
