# SPDX-License-Identifier: Apache-2.0
"""The two halves of each shipped plugin decide and count alike.

The halves share only the code that reads flavors. If they differed, the
scheduler would choose hosts that refuse a server, or pass over hosts that
would accept it.
"""

from importlib import metadata

from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st
import nova.conf
import pytest

from nova_reservations import conf as options
from nova_reservations import exception
from nova_reservations.compute import resctrl
from nova_reservations.scheduler.consumers import base
from nova_reservations.scheduler.consumers import handler
from nova_reservations.scheduler.consumers import needs
from nova_reservations.tests import profile
from nova_reservations.tests.unit.compute import hosts as computes
from nova_reservations.tests.unit.scheduler import hosts
from nova_reservations.tracking import stats

COMPUTE = metadata.entry_points(group='nova.compute.resources')
SCHEDULER = metadata.entry_points(group='nova.scheduler.consumers')
CONF = nova.conf.CONF

AMOUNTS = st.decimals(0, 60, places=2).map(str)
MALFORMED = st.sampled_from(['', '-1', 'lots', '1e3'])
FLAVORS = st.fixed_dictionaries(
    {
        'vcpus': st.integers(1, 12),
        'memory_mb': st.integers(1, 6000),
        'specs': st.dictionaries(
            st.sampled_from(
                [
                    'reservations:bandwidth',
                    'reservations:cache',
                    'reservations:cu',
                    'reservations:memory_bandwidth',
                    'resources:CUSTOM_CU',
                    'quota:vif_inbound_average',
                    'quota:vif_outbound_average',
                ]
            ),
            AMOUNTS | MALFORMED,
            max_size=4,
        ),
    }
)


@pytest.fixture(scope='module')
def _capacities(tmp_path_factory):
    """A host of 100 of everything."""
    options.register_opts(CONF)
    group = 'resource_plugins'
    CONF.set_override('cu_capacity', 100, group)
    CONF.set_override('bandwidth_capacity', 1, group)
    root = tmp_path_factory.mktemp('resctrl')
    (root / 'info' / 'L3').mkdir(parents=True)
    (root / 'info' / 'L3' / 'cbm_mask').write_text('f')
    (root / 'schemata').write_text('L3:0=f\nMB:0=100\n')
    cache = root / 'cpu0' / 'cache' / 'index3'
    cache.mkdir(parents=True)
    (cache / 'level').write_text('3')
    (cache / 'size').write_text('100K')
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(resctrl._Resctrl, 'root', root)
        patch.setattr(resctrl.Cache, 'cpus', root)
        yield
    CONF.clear_override('cu_capacity', group)
    CONF.clear_override('bandwidth_capacity', group)


def test_shipped_plugins_have_both_halves():
    ours = {name for name in SCHEDULER.names if name != 'reserved_aggregates'}
    assert COMPUTE.names == ours


def held(plugin, consumers, name):
    """Return the scheduler's host state, and the quantity, after a report."""
    report = stats.Report(plugin.version, plugin.write())
    found = stats.encode({name: report}, stats.Plugins({}, {}))
    host = hosts.host()
    consumers.read(host, found)
    return host, base.held(host, name)


def will_do(host, flavor, consumers):
    try:
        asked = needs.of(flavor, consumers)
    except exception.InvalidInput:
        return False
    mine = [need for need in asked if need.consumer is not None]
    return needs.refusal(host, mine, consumers) is None


@pytest.mark.parametrize('name', sorted(COMPUTE.names))
@pytest.mark.usefixtures('_capacities')
@settings(deadline=None, max_examples=profile.examples(50))
@given(flavors=st.lists(FLAVORS, max_size=8))
def test_both_halves_of_a_plugin_agree(name, flavors):
    plugin = COMPUTE[name].load()(CONF)
    plugin.reset(computes.host())
    consumers = handler.Consumers([SCHEDULER[name].load()(name, None)])
    host, _ = held(plugin, consumers, name)
    for flavor in flavors:
        specs = {
            key: value
            for key, value in flavor['specs'].items()
            # A plugin refuses only malformed specs of its own; the filter
            # refuses those of every plugin.
            if not key.startswith('reservations:') or key.endswith(f':{name}')
        }
        request = hosts.request(flavor['vcpus'], flavor['memory_mb'], **specs)
        usage = computes.usage(
            vcpus=flavor['vcpus'],
            memory_mb=flavor['memory_mb'],
            extra_specs=specs,
        )
        fits = plugin.test(usage) is None
        assert will_do(host, request.flavor, consumers) == fits
        if fits:
            plugin.add_instance(usage)
            consumers.consume(host, request)
        assert base.held(host, name) == held(plugin, consumers, name)[1]
