# SPDX-License-Identifier: Apache-2.0
import pytest

from nova_reservations.compute.metrics import driver_stats
from nova_reservations.compute.metrics import samples
from sandbox import load


def test_a_server_of_the_sandbox_does_what_it_is_told():
    machine = load.Machine(vcpus=4, memory_mb=2048, now=100.0)
    before = driver_stats.from_dict(machine.run({}, 100.0))
    doing = {'cpu_percent': 75, 'out_bytes_rate': 1e6}
    after = driver_stats.from_dict(machine.run(doing, 110.0))
    cpu, _, _, bandwidth = samples.of_server(after, before, 10.0, 4, 0.0)
    assert cpu[1]['percent'] == pytest.approx(75)
    assert bandwidth[1]['out_bytes_rate'] == pytest.approx(1e6)


def test_the_load_that_is_told_may_change(tmp_path):
    assert load.read(tmp_path, 'a') == {}
    load.write(tmp_path, {'a': {'cpu_percent': 5}})
    assert load.read(tmp_path, 'a') == {'cpu_percent': 5}
    assert load.read(tmp_path, 'b') == {}
    load.write(tmp_path, {})
    assert load.read(tmp_path, 'a') == {}
