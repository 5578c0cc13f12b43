# SPDX-License-Identifier: Apache-2.0
"""The filter and the weigher by the quantities of consumers."""

import decimal

from hypothesis import given
from hypothesis import strategies as st
from nova import objects
from nova.scheduler import weights
import pytest

from nova_reservations import exception
from nova_reservations.scheduler import weighers
from nova_reservations.scheduler.consumers import base
from nova_reservations.scheduler.consumers import handler
from nova_reservations.scheduler.consumers import host_states
from nova_reservations.scheduler.consumers import needs
from nova_reservations.scheduler.consumers import quantities
from nova_reservations.tests.unit.scheduler import hosts

NAMES = ('cu', 'vcpu', 'gpu')
AMOUNTS = st.decimals(0, 9, places=1)


def consumers_of(*names):
    classes = {'vcpu': quantities.Vcpu, 'memory': quantities.Memory}
    return handler.Consumers(
        classes.get(name, base.QuantityConsumer)(name, None) for name in names
    )


def host_with(**free):
    """Return a host state with these amounts free, of 100 each."""
    return hosts.host(
        held={
            name: base.Quantity(decimal.Decimal(100), 100 - amount)
            for name, amount in free.items()
        }
    )


def refusal(host, request, *loaded):
    consumers = consumers_of(*loaded)
    asked = needs.of(request.flavor, consumers)
    return needs.refusal(host, asked, consumers)


@given(
    specs=st.dictionaries(st.sampled_from(('cu', 'gpu')), AMOUNTS),
    vcpus=st.integers(1, 9),
    loaded=st.sets(st.sampled_from(NAMES)),
    free=st.dictionaries(st.sampled_from(NAMES), AMOUNTS),
)
def test_a_host_passes_with_enough_of_all_that_is_counted(
    specs, vcpus, loaded, free
):
    request = hosts.request(
        vcpus=vcpus, **{name: f'{amount:f}' for name, amount in specs.items()}
    )
    known = {name: free[name] for name in free if name in loaded}
    enough = all(
        name in known and amount <= known[name]
        for name, amount in specs.items()
        if amount
    ) and ('vcpu' not in known or vcpus <= known['vcpu'])
    assert (refusal(host_with(**known), request, *loaded) is None) == enough


def test_a_request_without_extra_specs_asks_what_nova_asks():
    request = hosts.request(vcpus=2)
    request.flavor = objects.Flavor(vcpus=2, memory_mb=1)
    asked = needs.of(request.flavor, consumers_of('cu', 'vcpu'))
    assert [(need.resource, need.amount) for need in asked] == [('vcpu', 2)]


def test_a_refusal_says_what_is_missing():
    host = host_with(cu=decimal.Decimal('1.5'))
    said = str(refusal(host, hosts.request(cu='4'), 'cu'))
    assert said == 'cu: 4 asked, 1.5 of 100 free'


def test_resources_that_are_named_must_be_known():
    asked = hosts.request(gpu='1')
    assert refusal(host_with(cu=9), asked, 'cu').resource == 'gpu'
    assert refusal(host_with(gpu=9), asked, 'cu').resource == 'gpu'
    assert refusal(hosts.host(), asked, 'cu', 'gpu').resource == 'gpu'


def test_a_flavor_that_makes_no_sense_is_an_error():
    with pytest.raises(exception.InvalidInput):
        needs.of(hosts.request(gpu='one').flavor, consumers_of())


@pytest.mark.parametrize('method', ['asked', 'lacking', 'free'])
def test_a_consumer_that_fails_refuses_only_who_names_its_resource(method):
    def fail(*_):
        raise RuntimeError(method)

    consumers = consumers_of('vcpu', 'cu')
    host = host_with(vcpu=9, cu=9)
    if method == 'free':
        host.held = {'cu': object(), 'vcpu': object()}
    else:
        for consumer in consumers.running.values():
            setattr(consumer, method, fail)
            fail.__name__ = method
    for _ in range(2 * handler.LIMIT):
        asked = needs.of(hosts.request(vcpus=1).flavor, consumers)
        assert needs.refusal(host, asked, consumers) is None
        asked = needs.of(hosts.request(cu='1').flavor, consumers)
        assert needs.refusal(host, asked, consumers).resource == 'cu'
        for need in asked if method == 'free' else ():
            assert needs.free(host, need, consumers) == 0
    assert not consumers.running


def order(monkeypatch, weigher, states, request, consumers=()):
    """Return the names of the hosts in the order that Nova tries them."""
    monkeypatch.setattr(host_states, '_consumers', consumers_of(*consumers))
    handler_ = weights.HostWeightHandler()
    return [
        weighed.obj.host
        for weighed in handler_.get_weighed_objects([weigher], states, request)
    ]


@pytest.fixture
def resource_weigher(monkeypatch):
    weigher = weighers.ResourceWeigher()
    monkeypatch.setattr(weigher, 'weight_multiplier', lambda host: 1.0)
    return weigher


def named(name, **free):
    state = host_with(**free)
    state.host = name
    return state


def test_more_free_comes_first(monkeypatch, resource_weigher):
    states = [named('h1', cu=2), named('h2', cu=8), named('h3'), named('h4')]
    states[3].held = {'cu': 'foreign'}
    found = order(
        monkeypatch, resource_weigher, states, hosts.request(cu='1'), ['cu']
    )
    assert found[:2] == ['h2', 'h1']


def test_a_multiplier_below_zero_fills(monkeypatch, resource_weigher):
    monkeypatch.setattr(
        resource_weigher, 'weight_multiplier', lambda host: -1.0
    )
    states = [named('h1', cu=8), named('h2', cu=2)]
    asked = hosts.request(cu='1')
    assert order(monkeypatch, resource_weigher, states, asked, ['cu']) == [
        'h2',
        'h1',
    ]


def test_several_resources_count_alike(monkeypatch, resource_weigher):
    states = [
        named('few of many', cu=90, gpu=0),
        named('some of each', cu=89, gpu=8),
        named('all of few', cu=0, gpu=9),
    ]
    asked = hosts.request(cu='1', gpu='1')
    found = order(monkeypatch, resource_weigher, states, asked, ['cu', 'gpu'])
    assert found[0] == 'some of each'


@pytest.mark.parametrize('asked', [{}, {'cu': 'nonsense'}])
def test_a_request_for_nothing_changes_no_order(
    monkeypatch, resource_weigher, asked
):
    states = [named('h1', cu=1), named('h2', cu=9)]
    found = order(
        monkeypatch, resource_weigher, states, hosts.request(**asked), ['cu']
    )
    assert found == ['h1', 'h2']
