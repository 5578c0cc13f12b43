# SPDX-License-Identifier: Apache-2.0
import json

import pytest

from nova_reservations import exception
from nova_reservations.api.servers import scheduler_hints

ID = 'fb5ec2d1-1e3a-4a3f-8b6e-3a1f0a9f2f70'
OTHER = '7b5c2f0e-5f33-4f8e-9c0e-0a3d3b1f1c11'


@pytest.mark.parametrize('key', scheduler_hints.KEYS)
@pytest.mark.parametrize('name', [ID, 'class', 'class of 2027, ü'])
def test_a_hint_is_found_under_both_keys_alone_or_in_a_list(key, name):
    for value in name, [name]:
        body = {'server': {}, key: {'reservation': value}}
        assert scheduler_hints.asked(body) == name


@pytest.mark.parametrize(
    'body',
    [
        None,
        [],
        'text',
        {},
        {'server': {}},
        {'os:scheduler_hints': {}},
        {'os:scheduler_hints': None},
        {'os:scheduler_hints': ['reservation']},
        {'os:scheduler_hints': {'group': ID}},
        {'server': {'os:scheduler_hints': {'reservation': ID}}},
        {'os:scheduler_hints': {}, 'OS-SCH-HNT:scheduler_hints': {}},
    ],
)
def test_a_request_without_the_hint_asks_nothing(body):
    assert scheduler_hints.asked(body) is None


@pytest.mark.parametrize(
    'value',
    [
        '',
        ' x',
        'x' * 256,
        'a\0b',
        None,
        {},
        {'id': ID},
        7,
        True,
        1.5,
        [],
        [ID, ID],
        [ID, OTHER],
        [None],
        [[ID]],
        ID.upper(),
        ID.replace('-', ''),
        ID + '\n',
        f'{{{ID}}}',
    ],
)
def test_hints_that_are_neither_an_id_nor_a_name_are_refused(value):
    with pytest.raises(exception.InvalidInput):
        scheduler_hints.asked({'os:scheduler_hints': {'reservation': value}})


@pytest.mark.parametrize(
    'second', [{}, {'reservation': ID}, {'reservation': OTHER}]
)
@pytest.mark.parametrize(
    'keys', [scheduler_hints.KEYS, scheduler_hints.KEYS[::-1]]
)
def test_a_reservation_beside_a_second_set_of_hints_is_refused(keys, second):
    with pytest.raises(exception.InvalidInput, match='both given'):
        scheduler_hints.asked({keys[0]: {'reservation': ID}, keys[1]: second})


@pytest.mark.parametrize(
    'body',
    [
        json.dumps({'os:scheduler_hints': {'reservation': ID}}),
        '{"os:scheduler_hints": {"reser\\u0076ation": "x"}}',
        '{"os:scheduler\\u005fhints": {"reservation": "x"}}',
    ],
)
def test_a_body_that_may_ask_is_worth_parsing_however_it_is_spelt(body):
    assert scheduler_hints.may_ask(body.encode())


@pytest.mark.parametrize(
    'body',
    [
        b'',
        b'{"server": {"name": "a", "user_data": "cmVzZXJ2YXRpb24="}}',
        b'{"server": {"name": "reservation"}}',
        b'{"server": {}, "os:scheduler_hints": {"group": "x"}}',
    ],
)
def test_a_body_that_can_not_ask_is_not_parsed(body):
    assert not scheduler_hints.may_ask(body)
