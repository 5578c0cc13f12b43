# SPDX-License-Identifier: Apache-2.0
import pytest

from nova_reservations.compute.metrics import base
from nova_reservations.compute.metrics import driver_stats
from nova_reservations.compute.metrics import measures
from nova_reservations.compute.metrics import samples

SECOND = 1_000_000_000
MIB = 1024 * 1024


def cpus(*seconds):
    return driver_stats.Reading(
        cpus={
            str(number): {'time': int(each * SECOND)}
            for number, each in enumerate(seconds)
        }
    )


def cpu_of(reading, before, seconds, vcpus):
    [(method, found)] = samples.of_server(reading, before, seconds, vcpus, 7.0)
    assert method == 'on_cpu'
    return found


def test_a_hundred_percent_are_all_vcpus():
    found = cpu_of(cpus(10, 10, 10, 10), cpus(0, 0, 0, 0), 10, 4)
    assert found == {
        'at': 7.0,
        'time': 40 * SECOND,
        'vcpus': 4,
        'percent': pytest.approx(100),
    }


def test_a_busy_vcpu_of_four_is_a_quarter():
    assert cpu_of(cpus(10, 5), cpus(0, 5), 10, 4)['percent'] == 25


def test_a_server_that_was_rebooted_has_no_negative_load():
    assert cpu_of(cpus(1), cpus(500), 10, 1)['percent'] is None


def test_the_first_look_has_no_rates():
    reading = driver_stats.from_dict({'cpu0_time': 5, 'vnet0_rx': 6})
    history = samples.History()
    seconds, before = history.swap('server', 100.0, reading)
    cpu, nics = samples.of_server(reading, before, seconds, 1, 7.0)
    assert cpu[1]['percent'] is None
    assert nics[1]['in_bytes_rate'] is None
    assert history.swap('server', 160.0, reading)[0] == 60


def test_a_server_that_is_gone_is_forgotten():
    history = samples.History()
    history.swap('gone', 1.0, 'reading')
    history.swap('here', 1.0, 'reading')
    history.keep(['here', 'new'])
    assert history.swap('gone', 5.0, 'again') == (0, 'again')
    assert history.swap('here', 5.0, 'again') == (4, 'reading')


def test_the_hosts_load_is_what_is_not_idle():
    before = {'kernel': 0, 'user': 0, 'idle': 0, 'iowait': 0, 'frequency': 800}
    now = before | {'kernel': 10, 'user': 20, 'idle': 60, 'iowait': 10}
    assert samples.of_host_cpu(now, before, 1, 8, 7.0) == {
        'at': 7.0,
        'time': 30,
        'vcpus': 8,
        'percent': pytest.approx(30),
        'frequency': 800,
        'kernel': 10,
        'user': 20,
        'idle': 60,
        'iowait': 10,
    }


@pytest.mark.parametrize(
    'now',
    [
        pytest.param({'kernel': 1, 'user': 2, 'idle': 0}, id='restarted'),
        pytest.param({'kernel': 9, 'user': 9}, id='idle is not told'),
    ],
)
def test_a_hosts_load_that_nobody_knows_is_none(now):
    before = {'kernel': 5, 'user': 5, 'idle': 5}
    assert samples.of_host_cpu(now, before, 1, 8, 7.0)['percent'] is None


def test_the_hosts_memory_is_what_the_audit_found():
    found = samples.of_host_ram({'memory_mb': 400, 'memory_mb_used': 100}, 7.0)
    assert (found['total'], found['used'], found['percent']) == (
        400 * MIB,
        100 * MIB,
        25,
    )


def test_every_measure_of_the_table_is_in_what_plugins_get():
    reading = driver_stats.from_dict(
        {
            'cpu0_time': 5,
            'memory': 1,
            'vda_read': 1,
            'vda_write_req': 1,
            'vnet0_tx': 1,
        }
    )
    given = dict(samples.of_server(reading, reading, 1, 1, 7.0))
    for measure in measures.MEASURES:
        assert measure.key in given[f'on_{measure.kind}']
    # Conversely, each number that plugins get is in the table.
    for method, found in given.items():
        for key in found.keys() - {'at', 'each', 'kind'}:
            assert f'{method[3:]}.{key}' in measures.BY_NAME


def test_measures_that_plugins_get_are_documented():
    for measure in measures.MEASURES:
        method = getattr(base.MetricPlugin, f'on_{measure.kind}')
        assert measure.key.removesuffix('_rate') in method.__doc__
