# SPDX-License-Identifier: Apache-2.0
"""Extra specs of flavors mean the same as in Nova's own filters."""

import json
import types

from hypothesis import assume
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st
from nova.objects import flavor as nova_flavor
from nova.scheduler import host_manager
from nova.scheduler.filters import aggregate_instance_extra_specs
from nova.scheduler.filters import compute_capabilities_filter
import pytest

from nova_reservations import exception
from nova_reservations.cloud.hosts import host_specs as judge
from nova_reservations.objects import host_specs
from nova_reservations.objects import requirements
from nova_reservations.tests import profile

OPERATORS = (
    '= == != >= <= s== s!= s< s<= s> s>= <in> <all-in> <or> <range-in>'
).split()
WORDS = ['4', '08', '8', '8.0', '1e1', 'abc', 'aes', 'avx2', 'QEMU', 'qemu']
operands = st.lists(st.sampled_from(WORDS), max_size=3).map(' '.join)
chains = st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(
    lambda words: '<or> ' + ' <or> '.join(words)
)
specs = st.one_of(
    st.sampled_from(['', ' ', *WORDS, "['aes', 'avx2']"]),
    st.builds('{} {}'.format, st.sampled_from(OPERATORS), operands),
    chains,
)
cpus = st.sampled_from(
    [
        '',
        '{}',
        'no JSON',
        '{"topology": null}',
        json.dumps(
            {
                'features': ['avx2', 'aes'],
                'model': 'QEMU',
                'topology': {'cores': 8},
            }
        ),
        json.dumps({'features': [], 'topology': {'cores': '4'}}),
    ]
)
CAPABILITIES = [
    'capabilities:cpu_info',
    'capabilities:cpu_info:features',
    'capabilities:cpu_info:model',
    'capabilities:cpu_info:topology',
    'capabilities:cpu_info:topology:cores',
    'capabilities:cpu_info:topology:cores:more',
    'capabilities:cpu_info::',
    'capabilities:hypervisor_type',
    'capabilities:hypervisor_version',
    'capabilities:vcpus_total',
]


def host(**known):
    return types.SimpleNamespace(stats={}, **known)


def nova_says(judge, host, specs):
    flavor = nova_flavor.Flavor(extra_specs=specs)
    try:
        return judge.host_passes(host, types.SimpleNamespace(flavor=flavor))
    except (IndexError, ValueError):
        return False


def ours_say(specs, facts):
    try:
        found = host_specs.of_flavor(specs, judge.passes)
    except exception.InvalidInput:
        assume(False)
    return requirements.meets(requirements.AllOf(tuple(found)), facts, ())


@settings(max_examples=profile.examples(2000))
@given(st.sampled_from(CAPABILITIES), specs, cpus, st.sampled_from([8, 9]))
def test_capabilities_are_those_of_novas_filter(key, spec, cpu_info, number):
    known = {
        'cpu_info': judge.normal(cpu_info),
        'hypervisor_type': 'QEMU',
        'hypervisor_version': number,
    }
    expected = nova_says(
        compute_capabilities_filter.ComputeCapabilitiesFilter(),
        host(vcpus_total=8, **known),
        {key: spec},
    )
    assert ours_say({key: spec}, {**known, 'vcpus': 8}) is expected


@settings(max_examples=profile.examples(1000))
@given(
    st.sampled_from(['ssd', 'aggregate_instance_extra_specs:ssd', 'x:ssd']),
    specs,
    st.lists(
        st.sampled_from(['4', '8', 'aes', 'QEMU', 'a, 8', '']), max_size=2
    ),
)
def test_aggregates_are_those_of_novas_filter(key, spec, texts):
    of_it = host(
        aggregates=[types.SimpleNamespace(metadata={'ssd': t}) for t in texts]
    )
    values = {each.strip() for text in texts for each in text.split(',')}
    filters = aggregate_instance_extra_specs.AggregateInstanceExtraSpecsFilter
    facts = (
        {'aggregate_instance_extra_specs:ssd': ','.join(sorted(values))}
        if texts
        else {}
    )
    ours = ours_say({key: spec}, facts)
    if ours or not spec.startswith(('=', '!', '>', '<=')):
        assert ours is nova_says(filters(), of_it, {key: spec})


def test_lists_of_cpu_info_are_in_order():
    one, other = (
        json.dumps({'features': features, 'topology': {'cores': 8}})
        for features in (['b', 'a'], ['a', 'b'])
    )
    assert judge.normal(one) == judge.normal(other)


def test_the_bits_of_addresses_are_compared():
    cpu_info = json.dumps({'maxphysaddr': {'bits': 46}})
    for bits, expected in (('46', True), ('47', False)):
        spec = {'hw:maxphysaddr_bits': bits}
        assert ours_say(spec, {'cpu_info': cpu_info}) is expected


@pytest.mark.parametrize(
    ('key', 'value', 'reason'),
    [
        ('capabilities:num_instances', '< 5', 'changes by the minute'),
        ('capabilities:stats:io_workload', '< 5', 'changes by the minute'),
        ('free_ram_mb', '>= 5', 'changes by the minute'),
        ('num_io_ops', '5', 'changes by the minute'),
        ('capabilities:num_os_type_linux', '5', 'changes by the minute'),
        ('capabilities:boot_mode', 'uefi', 'nothing that hosts are planned'),
        ('capabilities:hypervisor_type', '>= 5', 'is a text'),
        ('capabilities:hypervisor_version', '<in> 5', 'is a number'),
        ('capabilities:hypervisor_version', '>= five', 'five is none'),
    ],
)
def test_a_spec_that_can_not_be_planned_by_is_named(key, value, reason):
    with pytest.raises(exception.InvalidInput, match=reason) as refusal:
        host_specs.of_flavor({key: value}, judge.passes)
    assert f'Extra spec {key}={value}' in str(refusal.value)


def test_whatever_novas_filter_finds_by_name_is_known():
    state = host_manager.HostState('host', 'node', 'cell')
    for name in dir(state):
        if not name.startswith('_') and not requirements.changes(name):
            assert name in host_specs.NAMED | host_specs.OTHERS


@pytest.mark.parametrize(
    ('asked', 'same'),
    [
        (
            '["<in>", "$cpu_info:features", "aes"]',
            {'capabilities:cpu_info:features': '<in> aes'},
        ),
        (
            ['>=', '$cpu_info:topology:cores', 8],
            {'capabilities:cpu_info:topology:cores': '>= 8'},
        ),
        (
            ['!=', '$cpu_info:model', 'QEMU'],
            {'capabilities:cpu_info:model': 's!= QEMU'},
        ),
        (
            ['==', '$aggregate_instance_extra_specs:ssd', 'true'],
            {'aggregate_instance_extra_specs:ssd': 's== true'},
        ),
    ],
)
def test_lists_and_objects_say_the_same_of_cpus_and_aggregates(asked, same):
    words = host_specs.Words(judge.passes)
    [expected] = requirements.parse(same, nova=words).parts
    assert requirements.parse(asked, nova=words) == expected


@pytest.mark.parametrize(
    ('asked', 'reason'),
    [
        ({'capabilities:num_instances': '<= 5'}, 'changes by the minute'),
        (['<', '$num_io_ops', 8], 'changes by the minute'),
        ({'free_ram_mb': '>= 5'}, 'changes by the minute'),
        ({'capabilities:stats:num_instances': '1'}, 'changes by the minute'),
        ({'aggregate_instance_extra_specs:a': '<range-in> [ 1 2 ]'}, 'no <ra'),
        (['<', '$cpu_info:topology:cores', 8], 'by <= or >= only'),
        (['==', '$cpu_info:model', 'a b'], 'one word'),
    ],
)
def test_requirements_that_can_not_be_planned_by_are_refused(asked, reason):
    with pytest.raises(exception.InvalidInput, match=reason):
        requirements.parse(asked, nova=host_specs.Words(judge.passes))


def test_a_value_that_nova_judges_is_no_longer_than_in_a_flavor():
    words = host_specs.Words(judge.passes)
    key = 'aggregate_instance_extra_specs:rack'
    assert requirements.parse({key: '<or>' + ' a' * 125}, nova=words)
    with pytest.raises(exception.InvalidInput, match='255 characters'):
        requirements.parse({key: '<or>' + ' a' * 126}, nova=words)
