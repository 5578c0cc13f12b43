# SPDX-License-Identifier: Apache-2.0
"""The shipped resource plugins, on hosts that are folders."""

import decimal

from hypothesis import given
from hypothesis import strategies as st
import nova.conf
from oslo_config import cfg
from oslo_config import fixture
import pytest

from nova_reservations import conf as options
from nova_reservations.compute import bandwidth
from nova_reservations.compute import cu
from nova_reservations.compute import memory
from nova_reservations.compute import resctrl
from nova_reservations.compute import resources
from nova_reservations.compute import vcpu
from nova_reservations.tests.unit.compute import hosts


@pytest.fixture
def conf():
    options.register_opts(nova.conf.CONF)
    with fixture.Config(nova.conf.CONF) as config:
        yield config


def begun(kind, conf, host=None):
    plugin = kind(conf.conf)
    plugin.reset(host or hosts.host())
    return plugin


INBOUND = 'quota:vif_inbound_average'
OUTBOUND = 'quota:vif_outbound_average'

AMOUNTS = st.decimals(0, 10**9, places=3).map(str)


@given(
    st.lists(st.tuples(AMOUNTS, st.booleans()), max_size=30),
)
def test_servers_that_came_and_went_leave_nothing(steps):
    conf = cfg.ConfigOpts()
    options.register_opts(conf)
    conf([], default_config_files=[], default_config_dirs=[])
    conf.set_override('bandwidth_capacity', 1, 'resource_plugins')
    plugin = bandwidth.Bandwidth(conf)
    plugin.reset(hosts.host())
    here = []
    for amount, gone in steps:
        usage = hosts.usage(
            extra_specs={
                INBOUND: amount,
                OUTBOUND: amount,
            }
        )
        plugin.add_instance(usage)
        if gone:
            plugin.remove_instance(usage)
        else:
            here.append(decimal.Decimal(amount))
    assert plugin.inbound == sum(here) * 8 / 1000
    assert plugin.outbound == plugin.inbound


@pytest.mark.parametrize(
    ('kind', 'option', 'reserved', 'capacity', 'amount'),
    [
        (vcpu.Vcpu, 'reserved_host_cpus', 2, 6 * 4, 2),
        (
            memory.Memory,
            'reserved_host_memory_mb',
            384,
            (16384 - 384) * 1.5,
            512,
        ),
    ],
)
def test_vcpu_and_memory_are_what_nova_has(
    kind, option, reserved, capacity, amount, conf
):
    conf.config(**{option: reserved})
    plugin = begun(kind, conf)
    assert plugin.write() == {'total': capacity + reserved, 'used': reserved}
    plugin.add_instance(hosts.usage())
    assert plugin.write()['used'] == reserved + amount


def test_hosts_have_units_by_their_speed_not_by_their_cpus(conf, monkeypatch):
    monkeypatch.setattr(
        cu, 'measured_core', lambda: decimal.Decimal(120), raising=True
    )
    assert begun(cu.ComputeUnits, conf).write() == {'total': 960, 'used': 0}
    conf.config(group='resource_plugins', cu_capacity=500.5)
    assert begun(cu.ComputeUnits, conf).write() == {'total': 500.5, 'used': 0}


def test_a_core_is_measured():
    assert 1 <= cu.measured_core() < 10**4


def test_units_are_asked_for_beside_vcpus_that_do_not_count(conf):
    conf.config(group='resource_plugins', cu_capacity=100)
    plugin = begun(cu.ComputeUnits, conf)
    for extra_specs, units in (
        ({'reservations:cu': '30'}, 30),
        ({'resources:CUSTOM_CU': '30'}, 60),
        ({'reservations:cu': '2.5', 'resources:CUSTOM_CU': '3'}, 62.5),
        ({'resources:VCPU': '0'}, 62.5),
        ({'reservations:cu': 'many'}, 62.5),
    ):
        plugin.add_instance(hosts.usage(vcpus=8, extra_specs=extra_specs))
        assert plugin.write() == {'total': 100, 'used': units}


@pytest.mark.parametrize(
    ('units', 'refusal'),
    [
        ('70', None),
        ('70.5', '70.5 asked, 70 of 100 free'),
        ('-1', 'reservations:cu=-1 of the flavor is no amount'),
        ('NaN', 'reservations:cu=NaN of the flavor is no amount'),
        ('1e9', 'reservations:cu=1e9 of the flavor is no amount'),
        ('', 'reservations:cu= of the flavor is no amount'),
    ],
)
def test_a_server_is_refused_for_its_units(units, refusal, conf):
    conf.config(group='resource_plugins', cu_capacity=100)
    plugin = begun(cu.ComputeUnits, conf)
    plugin.add_instance(hosts.usage(extra_specs={'reservations:cu': '30'}))
    asked = hosts.usage(extra_specs={'reservations:cu': units})
    said = plugin.test(asked)
    if refusal is None:
        assert said is None
    else:
        assert refusal in said


def test_placement_knows_whole_units_less_what_nova_reserves(conf):
    conf.config(reserved_host_cpus=1)
    conf.config(group='resource_plugins', cu_capacity=100.5)
    plugin = begun(cu.ComputeUnits, conf)
    assert plugin.write()['used'] == 12.5625
    plugin.add_instance(hosts.usage(extra_specs={'reservations:cu': '30'}))
    assert plugin.inventory() == resources.Inventory(
        {'CUSTOM_CU': {'total': 100, 'reserved': 13, 'max_unit': 100}}
    )


@pytest.fixture
def link(tmp_path):
    def make(name, speed, is_device=True, is_virtual=False):
        folder = tmp_path / name
        folder.mkdir()
        (folder / 'speed').write_text(f'{speed}\n')
        if is_device:
            (folder / 'device').mkdir()
        if is_virtual:
            (folder / 'device' / 'physfn').mkdir()

    make('eth0', 10000)
    make('eth1', 10000)
    make('eth2', -1)
    make('eth0v0', 10000, is_virtual=True)
    make('bond0', 20000, is_device=False)
    make('tap7', 10, is_device=False)
    return tmp_path


class OnFolders(bandwidth.Bandwidth):
    pass


@pytest.mark.parametrize(
    ('configured', 'interfaces', 'total'),
    [
        (0, [], 20000),
        (0, ['bond0'], 20000),
        (0, ['eth0', 'eth2'], 10000),
        (5000, ['eth0'], 5000),
    ],
)
def test_bandwidth_is_that_of_the_links(
    configured, interfaces, total, conf, link, monkeypatch
):
    monkeypatch.setattr(OnFolders, 'interfaces', link)
    conf.config(
        group='resource_plugins',
        bandwidth_capacity=configured,
        bandwidth_interfaces=interfaces,
    )
    assert begun(OnFolders, conf).write()['total'] == total


@pytest.mark.parametrize('interfaces', [['eth2'], ['nowhere']])
def test_links_without_a_speed_are_no_capacity(
    interfaces, conf, link, monkeypatch
):
    monkeypatch.setattr(OnFolders, 'interfaces', link)
    conf.config(
        group='resource_plugins',
        bandwidth_capacity=0,
        bandwidth_interfaces=interfaces,
    )
    with pytest.raises(resources.Unavailable, match='no link has a speed'):
        begun(OnFolders, conf)


def test_bandwidth_is_counted_in_each_direction(conf):
    conf.config(group='resource_plugins', bandwidth_capacity=1000)
    plugin = begun(bandwidth.Bandwidth, conf)
    # 62,500 kilobytes a second are 500 Mbit/s.
    inwards = hosts.usage(extra_specs={INBOUND: '62500'})
    outwards = hosts.usage(extra_specs={OUTBOUND: '100000'})
    both = hosts.usage(
        extra_specs={'reservations:bandwidth': '300', OUTBOUND: '1'}
    )
    for usage in (inwards, outwards):
        assert plugin.test(usage) is None
        plugin.add_instance(usage)
    assert plugin.write() == {
        'total': 1000,
        'used': 800,
        'inbound': 500,
        'outbound': 800,
    }
    assert plugin.test(inwards) is None
    assert plugin.test(both) == '300 Mbit/s out asked, 200 of 1000 free'
    plugin.remove_instance(outwards)
    assert plugin.test(both) is None


@pytest.fixture
def kernel(tmp_path, monkeypatch):
    """Two sockets with a cache of 20 ways and 40 MiB each."""
    root = tmp_path / 'resctrl'
    for path, text in {
        'info/L3/cbm_mask': 'fffff\n',
        'schemata': '    MB:0=100;1=100\n    L3:0=fffff;1=fffff\n',
        'database/schemata': 'MB:0=20;1=100\nL3:0=0000f;1=00001\n',
        'database/mode': 'exclusive\n',
        'batch/schemata': 'MB:0=20;1=100\nL3:0=f0000;1=f0000\n',
        'batch/mode': 'shareable\n',
        '../cpu0/cache/index2/level': '2\n',
        '../cpu0/cache/index2/size': '1024K\n',
        '../cpu0/cache/index3/level': '3\n',
        '../cpu0/cache/index3/size': '40960K\n',
    }.items():
        file = root / path
        root.mkdir(exist_ok=True)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    monkeypatch.setattr(resctrl._Resctrl, 'root', root)
    monkeypatch.setattr(resctrl.Cache, 'cpus', tmp_path)
    return root


def test_cache_is_what_no_exclusive_group_holds(conf, kernel):
    plugin = begun(resctrl.Cache, conf)
    assert plugin.write() == {'total': 81920, 'used': 5 * 2048}
    asked = hosts.usage(extra_specs={'reservations:cache': '4096'})
    plugin.add_instance(asked)
    assert plugin.write()['used'] == 5 * 2048 + 4096


def test_memory_bandwidth_is_that_of_all_domains(conf, kernel):
    plugin = begun(resctrl.MemoryBandwidth, conf)
    asked = hosts.usage(extra_specs={'reservations:memory_bandwidth': '150'})
    assert plugin.test(asked) is None
    plugin.add_instance(asked)
    assert plugin.write() == {'total': 200, 'used': 150}
    assert plugin.test(asked) == '150 asked, 50 of 200 free'


@pytest.mark.parametrize('kind', [resctrl.Cache, resctrl.MemoryBandwidth])
def test_a_host_that_divides_nothing_says_so(kind, conf, kernel):
    (kernel / 'schemata').write_text('L2:0=ff\n')
    with pytest.raises(resources.Unavailable, match='does not divide'):
        begun(kind, conf)


@pytest.mark.parametrize('kind', [resctrl.Cache, resctrl.MemoryBandwidth])
def test_a_host_without_resctrl_says_so(kind, conf, tmp_path, monkeypatch):
    monkeypatch.setattr(resctrl._Resctrl, 'root', tmp_path / 'nowhere')
    with pytest.raises(resources.Unavailable, match='is not mounted'):
        begun(kind, conf)
