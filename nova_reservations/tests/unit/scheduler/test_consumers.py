# SPDX-License-Identifier: Apache-2.0
"""Consumers of metrics: their quantities, and a consumer that fails."""

import json

from hypothesis import given
from hypothesis import strategies as st
from oslo_config import cfg
import pytest

from nova_reservations import conf as options
from nova_reservations.scheduler.consumers import base
from nova_reservations.scheduler.consumers import handler
from nova_reservations.scheduler.consumers import quantities
from nova_reservations.tests.unit.scheduler import hosts
from nova_reservations.tracking import stats

NUMBERS = st.integers(0, 2**40) | st.decimals(0, 2**20, places=3).map(float)


@pytest.fixture
def conf():
    conf = cfg.ConfigOpts()
    options.register_opts(conf)
    conf([], default_config_files=[], default_config_dirs=[])
    return conf


@pytest.fixture
def logged(caplog):
    """Return the function that lists our lines in the log."""
    return lambda: [
        record.getMessage()
        for record in caplog.records
        if record.name.startswith('nova_reservations')
    ]


class Faulty(base.QuantityConsumer):
    """Raises in the methods that are in ``faults``."""

    def __init__(self, name='faulty', conf=None):
        super().__init__(name, conf)
        self.faults = set()

    def _raise(self, method):
        if method in self.faults:
            raise RuntimeError(method)

    def read(self, host_state, found):
        super().read(host_state, found)
        self._raise('read')

    def consume(self, host_state, request_spec):
        super().consume(host_state, request_spec)
        self._raise('consume')

    def survey(self, host_states, request_spec, summaries):
        self._raise('survey')


def cu(conf=None):
    return quantities.ComputeUnits('cu', conf)


@given(total=NUMBERS, used=NUMBERS)
def test_reports_of_a_host_are_typed_again(total, used):
    host = hosts.host()
    found = hosts.reports(cu={'total': total, 'used': used})
    handler.Consumers([cu()]).read(host, found)
    quantity = base.held(host, 'cu')
    assert (float(quantity.total), float(quantity.used)) == (total, used)
    assert float(quantity.free) == pytest.approx(total - used)


def test_tenths_add_up():
    host = hosts.host()
    consumers = handler.Consumers([cu()])
    consumers.read(host, hosts.reports(cu={'total': 0.3, 'used': 0.1}))
    for _ in range(2):
        consumers.consume(host, hosts.request(cu='0.1'))
    assert base.held(host, 'cu').free == 0


def test_servers_are_all_taken_off():
    host = hosts.host()
    consumers = handler.Consumers(
        [
            cu(),
            quantities.Vcpu('vcpu', None),
            quantities.Memory('memory', None),
        ]
    )
    free = {'total': 1000, 'used': 0}
    consumers.read(host, hosts.reports(cu=free, vcpu=free, memory=free))
    for _ in range(2):
        consumers.consume(host, hosts.request(vcpus=3, memory_mb=64, cu='5'))
    assert {name: each.used for name, each in host.held.items()} == {
        'cu': 10,
        'vcpu': 6,
        'memory': 128,
    }


def test_states_of_one_host_in_two_requests_do_not_mix():
    one, other = hosts.host(), hosts.host()
    consumers = handler.Consumers([cu()])
    for host in (one, other):
        consumers.read(host, hosts.reports(cu={'total': 4, 'used': 0}))
    consumers.consume(one, hosts.request(cu='4'))
    assert base.held(other, 'cu').free == 4


@pytest.mark.parametrize(
    'text',
    [
        '',
        'null',
        '{}',
        json.dumps({'format': 2, 'version': 1, 'figures': {}}),
        json.dumps({'format': 1, 'version': 1, 'figures': {'total': 1}}),
        *(
            json.dumps(
                {
                    'format': 1,
                    'version': version,
                    'figures': {'total': total, 'used': 0},
                }
            )
            for version, total in (
                (1, '4'),
                (1, None),
                (1, True),
                (1, [4]),
                (1, 10**400),
                (2, 4),
            )
        ),
    ],
)
def test_foreign_stats_are_as_none_and_said_once(text, logged):
    host = hosts.host()
    consumer = cu()
    consumers = handler.Consumers([consumer])
    for _ in range(2 * handler.LIMIT):
        consumers.read(host, {'reservations:cu': text, 'cpu_arch': 'x'})
    assert base.held(host, 'cu') is None
    [line] = logged()
    assert 'Consumer cu knows nothing of host host1' in line
    assert consumers.running == {'cu': consumer}


def test_a_host_is_named_once_each_time_that_it_lacks_a_plugin(logged):
    consumers = handler.Consumers([cu()])

    def read(*named):
        for name, found in named:
            consumers.read(hosts.host(name), found)

    good = hosts.reports(cu={'total': 1, 'used': 0})
    for _ in range(3):
        read(('h1', {}), ('h2', good), ('h3', hosts.reports()))
    assert len(logged()) == 2
    assert 'h1: it runs no plugins, or has not' in logged()[0]
    assert 'h3: its compute_resources does not name' in logged()[1]
    read(('h1', good), ('h1', good), ('h1', {}), ('h1', {}))
    assert len(logged()) == 3


def test_a_plugin_that_is_off_says_why(logged):
    found = stats.encode({}, stats.Plugins({}, {'cu': 'it failed 3 times'}))
    handler.Consumers([cu()]).read(hosts.host(), found)
    [line] = logged()
    assert line.endswith('its plugin is off: it failed 3 times')


def test_a_consumer_that_reads_no_stats_misses_none(logged):
    class Blind(base.Consumer):
        reads_stats = False

        def read(self, host_state, found):
            pass

        def consume(self, host_state, request_spec):
            pass

    handler.Consumers([Blind('blind', None)]).read(hosts.host(), {})
    assert not logged()


@pytest.mark.parametrize('method', ['read', 'consume', 'survey'])
def test_a_consumer_that_raises_harms_no_other_and_is_off_at_last(
    method, logged
):
    faulty = Faulty()
    consumers = handler.Consumers([faulty, cu()])
    faulty.faults = {method}
    figures = {'total': 9, 'used': 0}
    found = hosts.reports(cu=figures, faulty=figures)

    def run():
        host = hosts.host()
        consumers.read(host, found)
        consumers.survey([host], hosts.request(), {})
        consumers.consume(host, hosts.request(cu='1'))
        return host

    for _ in range(handler.LIMIT - 1):
        host = run()
        assert base.held(host, 'cu').used == 1
        assert (base.held(host, 'faulty') is None) == (method != 'survey')
    assert set(consumers.running) == {'faulty', 'cu'}
    run()
    assert set(consumers.running) == {'cu'}
    assert 'Consumer faulty is off until nova-scheduler is' in logged()[-1]
    lines = len(logged())
    assert base.held(run(), 'cu').used == 1
    assert len(logged()) == lines


def test_failures_with_successes_between_are_forgiven():
    faulty = Faulty()
    consumers = handler.Consumers([faulty])
    found = hosts.reports(faulty={'total': 9, 'used': 0})
    for number in range(5 * handler.LIMIT):
        faulty.faults = {'read'} if number % 5 else set()
        consumers.read(hosts.host(), found)
    assert consumers.running


def test_a_flavor_that_makes_no_sense_is_nobodys_fault():
    host = hosts.host()
    consumers = handler.Consumers([cu()])
    consumers.read(host, hosts.reports(cu={'total': 9, 'used': 0}))
    for _ in range(2 * handler.LIMIT):
        consumers.consume(host, hosts.request(cu='many'))
    assert base.held(host, 'cu').free == 9
    assert consumers.running


def test_an_unknown_name_is_one_error_and_the_others_are_loaded(conf, logged):
    conf.set_override('scheduler_consumers', ['vcpu', 'nonsense', 'cu', 'cu'])
    assert list(handler.load(conf).running) == ['vcpu', 'cu']
    [line] = logged()
    assert 'scheduler_consumers names nonsense' in line


def test_by_default_there_is_nothing(conf, logged):
    assert not handler.load(conf).running
    assert not logged()


@pytest.mark.parametrize('failure', [ValueError, SystemExit])
def test_a_consumer_that_can_not_be_used_is_left_out(
    conf, logged, monkeypatch, failure
):
    def fails(*_):
        raise failure

    monkeypatch.setattr(quantities.Memory, '__init__', fails)
    conf.set_override('scheduler_consumers', ['memory', 'cu'])
    assert list(handler.load(conf).running) == ['cu']
    assert logged() == ['Consumer memory can not be used']
