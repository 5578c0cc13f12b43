# SPDX-License-Identifier: Apache-2.0
import json

from hypothesis import given
from hypothesis import strategies
import jsonschema
import pytest

from nova_reservations import exception
from nova_reservations.api import validation
from nova_reservations.api.schemas import hosts
from nova_reservations.api.schemas import leases
from nova_reservations.api.schemas import parameters
from nova_reservations.types.servers import host

SCHEMAS = [
    (f'{module.__name__.rpartition(".")[2]}.{name}', schema)
    for module in (hosts, leases)
    for name, schema in vars(module).items()
    if isinstance(schema, validation.Schema)
]

LEASE = {'name': 'mine', 'start_date': 'now', 'end_date': '2040-01-01 00:00'}


@pytest.mark.parametrize(
    'schema',
    [
        *(schema.schema for _, schema in SCHEMAS),
        host.PhysicalHost.schema,
        host.PhysicalHost.update_schema,
    ],
)
def test_every_schema_is_a_schema(schema):
    jsonschema.Draft202012Validator.check_schema(schema)


def unbounded(schema, path=''):
    """Yield the paths of values that a schema does not bound."""
    if not isinstance(schema, dict) or 'enum' in schema or 'const' in schema:
        return
    kinds = schema.get('type', [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    bounds = {
        'string': ('maxLength', 'pattern'),
        'integer': ('maximum',),
        'number': ('maximum',),
        'object': ('maxProperties', 'additionalProperties'),
    }
    for kind, names in bounds.items():
        if kind in kinds and not any(name in schema for name in names):
            yield f'{path} ({kind})'
    for name, part in schema.get('properties', {}).items():
        yield from unbounded(part, f'{path}.{name}')
    for name in ('items', 'additionalProperties', 'propertyNames'):
        yield from unbounded(schema.get(name), f'{path}.{name}')


@pytest.mark.parametrize(('name', 'schema'), SCHEMAS)
def test_nothing_that_a_client_sends_is_without_bounds(name, schema):
    if not name.endswith('RESPONSE'):
        assert list(unbounded(schema.schema)) == []


@pytest.mark.parametrize(
    'text',
    [
        b'',
        b'{',
        b'nonsense',
        b'{"a": 1, "a": 2}',
        b'[{"a": 1, "a": 1}]',
        b'NaN',
        b'[Infinity]',
        b'{"a": -Infinity}',
        b'"\\ud800"',
        b'"\\u0000"',
        b'{"\\u0000": 1}',
        b'["\\udfff"]',
        b'"\x00"',
        b'\xff',
        b'"\xed\xa0\x80"',
        '{}'.encode('utf-16'),
        b'\xef\xbb\xbf{}',
        b'9' * 10000,
        b'[' * 100 + b']' * 100,
        b'[' * 60000,
        b'{"a":' * 10000 + b'1',
    ],
)
def test_json_that_readers_or_databases_do_not_agree_on_is_refused(text):
    with pytest.raises(exception.InvalidInput):
        validation.parse_json(text)


@given(
    strategies.recursive(
        strategies.none()
        | strategies.booleans()
        | strategies.integers()
        | strategies.floats(allow_nan=False, allow_infinity=False)
        | strategies.text(
            strategies.characters(
                exclude_categories=['Cs'], exclude_characters='\x00'
            )
        ),
        lambda inner: (
            strategies.lists(inner)
            | strategies.dictionaries(strategies.just('key'), inner)
        ),
        max_leaves=5,
    )
)
def test_all_other_json_is_read_as_it_is(value):
    assert validation.parse_json(json.dumps(value).encode()) == value


@pytest.mark.parametrize(
    'text',
    [
        'a=1&a=1',
        'a=%00',
        'a=%ff',
        'a=%ed%a0%80',
        '&'.join(f'a{number}=1' for number in range(1000)),
    ],
)
def test_a_query_that_can_be_read_in_two_ways_is_refused(text):
    with pytest.raises(exception.InvalidInput):
        validation.parse_query(text)


@pytest.mark.parametrize(
    ('changes', 'reason'),
    [
        ({'name': ''}, 'name'),
        ({'name': 'x' * 256}, 'name'),
        ({'name': 7}, 'name'),
        ({'start_date': 1}, 'start_date'),
        ({'start_date': None}, 'start_date'),
        ({'duration': 1.0}, 'duration'),
        ({'duration': True}, 'duration'),
        ({'duration': -1}, 'duration'),
        ({'duration': 10**30}, 'duration'),
        ({'reservations': {}}, 'reservations'),
        ({'reservations': [{}]}, 'Missing parameter resource_type'),
        (
            {'reservations': [{'resource_type': 'physical:host'}] * 65},
            'reservations',
        ),
        ({'project_id': 'theirs/ours'}, 'project_id'),
        ({'status': 'ACTIVE'}, 'status'),
        ({'id': '1'}, 'id'),
    ],
)
def test_a_lease_that_is_not_well_formed_is_refused(changes, reason):
    with pytest.raises(exception.InvalidInput, match=reason):
        leases.CREATE.check(LEASE | changes)


@pytest.mark.parametrize(
    'changes',
    [
        {},
        {'events': []},
        {'events': [{'event_type': 'x', 'event_date': ''}]},
        {'before_end_date': None},
        {'reservations': []},
        {'duration': '2h'},
        {'duration': 3600},
    ],
)
def test_requests_of_blazars_clients_are_well_formed(changes):
    leases.CREATE.check(LEASE | changes)


def test_all_missing_parameters_are_named_at_once():
    with pytest.raises(
        exception.InvalidInput, match='Missing parameter name, start_date'
    ):
        leases.CREATE.check({})


def test_a_reason_does_not_repeat_all_that_was_sent():
    with pytest.raises(exception.InvalidInput) as refusal:
        leases.CREATE.check(LEASE | {'reservations': ['x' * 60000]})
    assert len(str(refusal.value)) <= 500


@pytest.mark.parametrize(
    ('body', 'reason'),
    [
        ({}, 'Missing parameter name'),
        ({'name': 'a', 'vcpus': 4}, 'vcpus cannot be set'),
        ({'name': 'a', 'trust_id': 'x'}, 'trust_id cannot be set'),
        ({'name': 'a', 'x' * 65: 'y'}, 'too long'),
        ({'name': 'a', '': 'y'}, 'letters'),
        ({'name': 'a', 'a/b': 'y'}, 'letters'),
        ({'name': 'a', 'gpu': 'y' * 1025}, 'gpu'),
        ({'name': 'a', 'gpu': {}}, 'gpu'),
        ({'name': 'a', 'gpu': 10**40}, 'gpu'),
        ({'name': 'a', 'gpu': float('inf')}, 'gpu'),
    ],
)
def test_a_host_that_is_not_well_formed_is_refused(body, reason):
    with pytest.raises(exception.InvalidInput, match=reason):
        hosts.CREATE.check(body)


def test_a_property_of_a_host_is_a_flat_scalar_and_null_unsets_it():
    hosts.CREATE.check({'name': 'a', 'gpu': 'A100', 'rack': 7, 'ssd': True})
    hosts.UPDATE.check({'gpu': None})


@pytest.mark.parametrize(
    ('changes', 'reason'),
    [
        ({'id': 'x'}, 'id: must be a UUID in its lower case form'),
        ({'id': 'x' * 36}, 'id: must be a UUID in its lower case form'),
        ({'min': 'a'}, 'min: must be a whole number from 1 on'),
        (
            {'end_grace': 'long'},
            'end_grace: must be a whole number of minutes',
        ),
    ],
)
def test_a_form_is_asked_for_in_words(changes, reason):
    schema = validation.Schema(
        {
            **host.PhysicalHost.update_schema,
            'properties': {
                **host.PhysicalHost.update_schema['properties'],
                'id': parameters.UUID,
            },
        }
    )
    with pytest.raises(exception.InvalidInput) as refusal:
        schema.check(changes)
    assert str(refusal.value) == f'Malformed parameter {reason}'
