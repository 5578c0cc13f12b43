# SPDX-License-Identifier: Apache-2.0
import dataclasses
import json

from hypothesis import given
from hypothesis import strategies as st
import pytest

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.objects import requirements
from nova_reservations.objects import states
from nova_reservations.objects.requirements import AllOf
from nova_reservations.objects.requirements import AnyOf
from nova_reservations.objects.requirements import Comparison
from nova_reservations.objects.requirements import Not
from nova_reservations.objects.requirements import Trait
from nova_reservations.tests import brute_force

VCPUS = Comparison('>=', 'vcpus', 8.0)
GPU = Comparison('==', 'gpu', 'True')

HOST = objects.Host(
    resource=objects.Resource(7, objects.HOST, 'one', ''),
    role=states.Role.POOL,
    created_at=None,
    updated_at=None,
    properties={'gpu': 'True', 'rack': '12', 'os': '22.04'},
    facts=objects.HostFacts(
        uuid='',
        service_host='one',
        hypervisor_hostname='one.example',
        vcpus=16,
        memory_mb=4096,
        local_gb=100,
        free_memory_mb=2048,
        free_disk_gb=50,
        cpu_info='{"features": ["aes", "vmx"]}',
        hypervisor_type='QEMU',
        hypervisor_version=6002000,
        availability_zone='north',
        provider_generation=1,
        traits=frozenset({'HW_CPU_X86_VMX'}),
        inventories=(
            objects.Inventory(
                'CUSTOM_FPGA',
                total=4,
                reserved=1,
                min_unit=1,
                max_unit=4,
                step_size=1,
                allocation_ratio=2.0,
            ),
        ),
    ),
)


def parse(*sources, region='RegionOne'):
    return requirements.parse(*sources, constants={'region': region})


@pytest.mark.parametrize('source', [None, '', ' \n', '[]', '{}', [], {}])
def test_no_requirements_are_written_in_many_ways(source):
    assert parse(source) is None


@pytest.mark.parametrize(
    ('source', 'expression'),
    [
        ('[">=", "$vcpus", "8"]', VCPUS),
        (['>=', '$vcpus', '8'], VCPUS),
        ('[">=", "$vcpus", 8]', VCPUS),
        ('["=", "$gpu", "True"]', GPU),
        (
            '["and", [">=", "$vcpus", "8"], ["==", "$gpu", "True"]]',
            AllOf((VCPUS, GPU)),
        ),
        (
            '["or", [">=", "$vcpus", "8"], ["not", ["==", "$gpu", "True"]]]',
            AnyOf((VCPUS, Not(GPU))),
        ),
        (
            '["and", ["or", {"vcpus": "= 8"}, {"gpu": "True"}]]',
            AllOf((AnyOf((AllOf((VCPUS,)), AllOf((GPU,)))),)),
        ),
        (
            '["==", "$trait:HW_CPU_X86_VMX", "forbidden"]',
            Trait('HW_CPU_X86_VMX', False),
        ),
        (
            '[">", "$inventory:CUSTOM_FPGA", "1e0"]',
            Comparison('>', 'inventory:CUSTOM_FPGA', 1.0),
        ),
        # Some keys are always text; s== and <in> compare any key as text.
        (
            '["==", "$availability_zone", "1"]',
            Comparison('==', 'availability_zone', '1'),
        ),
        ('["s==", "$os", "22.10"]', Comparison('==', 'os', '22.10')),
        ('["==", "$os", "22.10"]', Comparison('==', 'os', 22.1)),
        ('["<in>", "$os", "22"]', Comparison('<in>', 'os', '22')),
    ],
)
def test_requirements_that_were_written_are_understood(source, expression):
    assert parse(source) == expression


@pytest.mark.parametrize(
    ('spec', 'expression'),
    [
        (
            {'capabilities:hypervisor_type': 'QEMU'},
            Comparison('==', 'hypervisor_type', 'QEMU'),
        ),
        (
            {'capabilities:hypervisor_version': '>= 6000'},
            Comparison('>=', 'hypervisor_version', 6000.0),
        ),
        ({'vcpus': '= 8'}, VCPUS),
        ({'gpu': 'True'}, GPU),
        ({'gpu': 's== True'}, GPU),
        ({'gpu': 'Ampere A100'}, Comparison('==', 'gpu', 'Ampere A100')),
        (
            {'gpu': '<or> A100 <or> True'},
            AnyOf((Comparison('==', 'gpu', 'A100'), GPU)),
        ),
        (
            {'capabilities:cpu_info': '<in> aes'},
            Comparison('<in>', 'cpu_info', 'aes'),
        ),
        ({'trait:HW_CPU_X86_VMX': 'required'}, Trait('HW_CPU_X86_VMX', True)),
    ],
)
def test_extra_specs_mean_what_they_mean_in_a_flavor(spec, expression):
    assert parse(spec) == parse(json.dumps(spec)) == AllOf((expression,))


def test_several_sources_must_all_be_met():
    assert parse('[">=", "$vcpus", "8"]', '', ['==', '$gpu', 'True']) == AllOf(
        (VCPUS, GPU)
    )


@pytest.mark.parametrize(
    ('source', 'reason'),
    [
        ('nonsense', 'this is not JSON'),
        ('[' * 100_000, 'this is not JSON'),
        ('"$vcpus"', 'neither a list nor an object'),
        (8, 'neither a string nor a list or object'),
        ('["and"]', '["and", ...]'),
        ('["and", []]', 'neither [operator, "$key", value]'),
        ('["not", ["==", "$a", "1"], ["==", "$a", "2"]]', '["not", one]'),
        ('["==", "vcpus", "8"]', 'neither [operator, "$key", value]'),
        ('["~", "$vcpus", "8"]', '~ is no operator: use one of == !='),
        ('["==", "$gpu", true]', 'True is neither a string nor a number'),
        (['==', '$gpu', float('nan')], 'nan is neither a string nor'),
        ('["==", "$gpu", null]', 'None is neither a string nor a number'),
        ('["==", "$gpu", "\\u0000"]', 'NUL'),
        ('["==", "$gpu", "\\ud800"]', 'surrogate'),
        ('["==", "$vcpus", "many"]', 'vcpus is a number'),
        ('["s==", "$vcpus", "8"]', 'vcpus is a number'),
        ('["==", "$inventory:gpu", "8"]', 'of A-Z, 0-9 and _'),
        ('["!=", "$trait:HW_CPU_X86_VMX", "required"]', '== forbidden'),
        ('["==", "$trait:HW_CPU_X86_VMX", "True"]', '== forbidden'),
        ('["==", "$region", "RegionTwo"]', 'this is RegionOne'),
        ('["!=", "$region", "RegionTwo"]', 'this is RegionOne'),
        ('["<in>", "$region", "RegionOne"]', 'by == or != only'),
        ({'hw:cpu_policy': 'dedicated'}, 'does not tell of hosts'),
        ({'gpu': '<or> A100 A30'}, 'like <or> A <or> B'),
        ({'gpu': '<or>'}, 'like <or> A <or> B'),
        ({'gpu': 's== Ampere A100'}, 'an operator and one word'),
        ({'vcpus': '<range-in> ( 1 8 )'}, 'an operator and one word'),
        ({'gpu': '<all-in>'}, 'an operator and one word'),
        ({'gpu': '<range-in> A100'}, '<range-in> is no operator'),
    ],
)
def test_requirements_that_are_not_understood_are_refused_with_a_reason(
    source, reason
):
    with pytest.raises(exception.InvalidInput) as refused:
        parse(source)
    assert str(refused.value).startswith('Malformed requirements ')
    assert reason in str(refused.value)


def test_a_refusal_shows_only_the_beginning_of_a_long_text():
    with pytest.raises(exception.InvalidInput) as refused:
        parse('x' * 100_000)
    assert len(str(refused.value)) < 500


def test_nesting_and_size_are_bounded():
    leaf = '["==", "$a", "1"]'
    limit = requirements.MAX_COMPARISONS
    parse(f'["and", {", ".join([leaf] * limit)}]')
    with pytest.raises(exception.InvalidInput, match='256 comparisons'):
        parse(f'["and", {", ".join([leaf] * (limit + 1))}]')
    depth = requirements.MAX_DEPTH - 1
    parse('["not", ' * depth + leaf + ']' * depth)
    with pytest.raises(exception.InvalidInput, match='16 deep'):
        parse('["not", ' * (depth + 1) + leaf + ']' * (depth + 1))


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.sampled_from(['and', 'or', 'not', '==', '<in>', '$vcpus', '$gpu']),
    lambda parts: (
        st.lists(parts)
        | st.dictionaries(
            st.text() | st.sampled_from(['trait:A', 'capabilities:b']), parts
        )
    ),
)


@given(
    json_values
    | json_values.map(json.dumps)
    | st.text()
    | st.text(st.characters(codec=None))
)
def test_whatever_is_sent_is_understood_or_refused_as_bad_input(source):
    try:
        parse(source)
    except exception.InvalidInput as error:
        str(error).encode()


@pytest.mark.parametrize(
    ('source', 'meets'),
    [
        ('[">=", "$vcpus", "16"]', True),
        ('[">", "$vcpus", "16"]', False),
        ('["==", "$id", "7"]', True),
        ('["==", "$service_name", "one"]', True),
        ('["!=", "$hypervisor_hostname", "one"]', True),
        ('["==", "$region", "RegionOne"]', True),
        ('["!=", "$region", "RegionOne"]', False),
        ({'capabilities:cpu_info': '<in> "vmx"'}, True),
        # Numbers are compared as numbers, and text as text.
        ('[">", "$rack", "9"]', True),
        ('["s>", "$rack", "9"]', False),
        ('["==", "$rack", "12.0"]', True),
        ('["s==", "$rack", "12.0"]', False),
        ('[">=", "$os", "22.04"]', True),
        ('["!=", "$gpu", "1"]', True),
        ('[">", "$gpu", "1"]', False),
        ('["<", "$gpu", "1"]', False),
        ('[">", "$gpu", "False"]', True),
        ('["==", "$gpu", "true"]', False),
        # Properties and inventories that the host does not have.
        ('["==", "$nvme", "1"]', False),
        ('["!=", "$nvme", "1"]', False),
        ('["not", ["==", "$nvme", "1"]]', True),
        ('[">=", "$inventory:CUSTOM_FPGA", "6"]', True),
        ('[">", "$inventory:CUSTOM_FPGA", "6"]', False),
        ('["!=", "$inventory:VGPU", "1"]', False),
        ('["==", "$trait:HW_CPU_X86_VMX", "required"]', True),
        ('["==", "$trait:HW_CPU_X86_SGX", "forbidden"]', True),
    ],
)
def test_a_host_meets_what_is_documented(source, meets):
    assert brute_force.matches(parse(source), HOST) is meets


@pytest.mark.parametrize(
    ('text', 'number'),
    [
        ('4', 4.0),
        ('-4.50', -4.5),
        ('+1e3', 1000.0),
        ('04', 4.0),
        ('', None),
        ('4 ', None),
        ('.5', None),
        ('1_000', None),
        ('0x10', None),
        ('nan', None),
        ('inf', None),
        ('1e999', None),
        ('٤', None),
        ('4\n', None),
    ],
)
def test_only_finite_decimal_notation_is_a_number(text, number):
    assert requirements.number(text) == number


def test_the_properties_that_are_compared_are_known():
    expression = parse(
        '["or", ["not", ["==", "$gpu", "True"]], ["==", "$rack", "1"], '
        '[">", "$vcpus", "1"], [">", "$inventory:VCPU", "1"], '
        '["==", "$trait:A", "required"]]'
    )
    assert requirements.properties(expression) == {'gpu', 'rack'}
    assert requirements.properties(None) == frozenset()


def test_every_text_and_number_is_a_fact_of_a_host():
    facts = {field.name for field in dataclasses.fields(objects.HostFacts)}
    assert requirements.NUMBERS <= facts | {'id'}
    assert requirements.TEXTS <= facts | {'service_name'}


@pytest.mark.parametrize(
    ('expression', 'size'),
    [
        (None, 0),
        (GPU, 1),
        (Not(AnyOf((GPU, AllOf((VCPUS, GPU))))), 3),
        (AllOf((Trait('HW_X', True), GPU)), 2),
    ],
)
def test_the_size_is_the_number_of_comparisons(expression, size):
    assert requirements.size(expression) == size


@pytest.mark.parametrize(
    'expression',
    [
        Comparison('==', 'service_name', 'compute-1'),
        AllOf((VCPUS, Comparison('==', 'hypervisor_hostname', 'node-1'))),
        Comparison('==', 'id', 7.0),
    ],
)
def test_a_certain_host_is_required_by_its_name(expression):
    assert requirements.names_one(expression)


@pytest.mark.parametrize(
    'expression',
    [
        None,
        VCPUS,
        # A property of the operator's.
        Comparison('==', 'name', 'compute-1'),
        Comparison('!=', 'service_name', 'compute-1'),
        Not(Comparison('==', 'service_name', 'compute-1')),
        AnyOf((Comparison('==', 'service_name', 'compute-1'), GPU)),
    ],
)
def test_any_of_several_hosts_may_be_required(expression):
    assert not requirements.names_one(expression)
