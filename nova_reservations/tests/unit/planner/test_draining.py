# SPDX-License-Identifier: Apache-2.0
"""Hosts that are drained, and the targets of the servers on them."""

import itertools

from hypothesis import given
from hypothesis import strategies as st
from oslo_config import cfg
import pytest
from stevedore import extension

from nova_reservations import conf as reservations_conf
from nova_reservations import exception
from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.objects import amounts as quantities
from nova_reservations.planner import draining
from nova_reservations.plugins.drain_strategies import base
from nova_reservations.plugins.drain_strategies import shipped as plugins
from nova_reservations.tests import profile
from nova_reservations.tests.examples import quietest

IDS = range(6)

wants = st.lists(
    st.builds(
        draining.Want,
        st.integers(0, 3),
        st.sets(st.sampled_from(IDS), max_size=5),
    ),
    max_size=3,
)
costs = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=6, max_size=6
)


def fulfils(chosen, asked):
    """Return whether the chosen hosts satisfy each want, and none is left
    over; tries all orders."""
    slots = [want for want in asked for _ in range(want.count)]
    return len(slots) == len(chosen) and any(
        all(one in want.offers for one, want in zip(order, slots, strict=True))
        for order in itertools.permutations(chosen)
    )


@profile.guard()
@given(wants, costs)
def test_the_set_is_the_cheapest_of_all_that_suffice(asked, prices):
    order = sorted(IDS, key=lambda one: (prices[one], one))
    chosen = draining.cheapest(asked, order)
    count = sum(want.count for want in asked)
    sufficient = [
        set(some)
        for some in itertools.combinations(IDS, min(count, 7))
        if fulfils(some, asked)
    ]
    if not sufficient:
        assert chosen is None
        return
    assert chosen in sufficient

    def together(some):
        return [sum(prices[one][index] for one in some) for index in (0, 1)]

    assert together(chosen) == min(map(together, sufficient))


amounts = st.fixed_dictionaries(
    {'VCPU': st.integers(1, 3), 'MEMORY_MB': st.integers(1, 3)}
).map(quantities.Amounts)
targets = st.sampled_from('abc')
rooms = st.fixed_dictionaries(
    {
        name: st.fixed_dictionaries(
            {'VCPU': st.integers(0, 6), 'MEMORY_MB': st.integers(0, 6)}
        ).map(quantities.Amounts)
        for name in 'abc'
    }
)
servers = st.dictionaries(
    st.integers(0, 5),
    st.tuples(amounts, st.lists(targets, unique=True)),
    max_size=4,
)


@profile.guard()
@given(servers, rooms)
def test_all_that_is_placed_has_room_where_it_goes(asked, free):
    needs = {server: need for server, (need, _) in asked.items()}
    fits = {server: where for server, (_, where) in asked.items()}
    placed = draining.places(needs, fits, free)
    for server, target in placed.items():
        assert target in fits[server]
    for target, room in free.items():
        for name, amount in room.items():
            assert amount >= sum(
                needs[server][name]
                for server, where in placed.items()
                if where == target
            )
    for server in needs.keys() - placed.keys():
        # A server without a place fits on no target beside those placed.
        for target in fits[server]:
            assert any(
                needs[server][name]
                > free[target][name]
                - sum(
                    needs[other][name]
                    for other, where in placed.items()
                    if where == target
                )
                for name in needs[server]
            )


def drainable(*servers):
    return base.DrainableHost(
        objects.Resource(1, objects.HOST, 'one', 'uuid'), tuple(servers)
    )


def placed(state='active', memory_mb=512, **more):
    return ports.PlacedServer(
        ports.Server('uuid', 'project', 'one', state),
        ports.Flavor(vcpus=1, memory_mb=memory_mb, root_gb=1),
        **more,
    )


def cost(name, *servers):
    return plugins.SHIPPED[name](conf=None).cost(drainable(*servers))


def test_fewest_servers_goes_by_their_number_then_by_their_memory():
    few = placed(memory_mb=4096), placed()
    many = placed(), placed(), placed()
    assert cost('fewest_servers', *few) < cost('fewest_servers', *many)
    assert cost('fewest_servers', *many) < cost(
        'fewest_servers', placed(), *few
    )


def test_least_memory_goes_by_their_memory_then_by_their_number():
    few = placed(memory_mb=4096), placed()
    many = placed(), placed(), placed()
    assert cost('least_memory', *many) < cost('least_memory', *few)
    assert cost('least_memory', placed(memory_mb=1024)) < cost(
        'least_memory', placed(), placed()
    )


def test_by_state_takes_stopped_ones_before_those_that_run():
    stopped = [placed('stopped', 8192)] * 3
    assert cost('by_state', *stopped) < cost('by_state', placed())
    assert cost('by_state', placed('paused')) == cost('by_state', placed())


def test_by_state_takes_small_ones_before_large_ones():
    assert cost('by_state', placed(memory_mb=256)) < cost('by_state', placed())
    assert cost('by_state', placed('stopped', 256)) < cost(
        'by_state', placed('stopped')
    )


@pytest.mark.parametrize('own', ['pinned', 'passthrough'])
def test_by_state_never_takes_what_has_a_part_of_the_host(own):
    fixed = placed('stopped', **{own: True})
    assert cost('by_state', placed(), fixed) is None
    assert cost('fewest_servers', placed(), fixed) is not None


def test_an_empty_host_is_the_cheapest():
    for name in plugins.SHIPPED:
        assert cost(name) < cost(name, placed('stopped', 1))


@pytest.fixture
def conf():
    opts = cfg.ConfigOpts()
    reservations_conf.register_opts(opts)
    opts([])
    return opts


@pytest.fixture(autouse=True)
def _no_memory_of_entry_points(monkeypatch):
    monkeypatch.setattr(extension.ExtensionManager, 'ENTRY_POINT_CACHE', {})


def strategy_of(conf, name):
    conf.set_override('best_effort_strategy', name, group='reservations')
    return plugins.load(conf)


def test_a_strategy_is_had_by_its_name(conf):
    assert isinstance(plugins.load(conf), plugins.FewestServers)
    assert isinstance(strategy_of(conf, 'by_state'), plugins.ByState)


def test_a_strategy_that_is_not_installed_stops_the_process(conf):
    with pytest.raises(exception.UnknownDrainStrategy, match='unheard of'):
        strategy_of(conf, 'unheard of')


def test_a_strategy_of_another_package_is_found_by_its_entry_point(
    conf, tmp_path, monkeypatch
):
    quietest.install(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    found = strategy_of(conf, 'quietest')
    assert type(found).__name__ == 'Quietest'
    assert found.cost(drainable(placed(), placed('stopped'))) == (1,)
