# SPDX-License-Identifier: Apache-2.0
"""Resources other than hosts: operators add them, members lease them and see
how much is free."""

import pytest

TYPE = 'example:licence'
OF_TYPE = f'?resource_type={TYPE}'


@pytest.fixture(autouse=True)
def _licences(licence_type):
    """The type of licences exists."""


def add(admin, name='cad', seats=4, **properties):
    answer = admin(
        'POST',
        '/resources',
        {
            'resource_type': TYPE,
            'name': name,
            'inventories': {'SEATS': seats},
            'properties': properties,
        },
    )
    assert answer.status_int == 201, answer.text
    return answer.json['resource']


def change(admin, resource, **changes):
    return admin('PUT', f'/resources/{resource["id"]}', changes)


def lease(member, seats=1, required='', **more):
    item = {
        'resource_type': TYPE,
        'seats': seats,
        'resource_properties': required,
    }
    return member.lease(reservations=[item], **more)


def test_an_added_resource_is_listed_and_shown(admin):
    resource = add(admin, vendor='acme', floor=2)
    assert resource['inventories'] == {'SEATS': 4}
    assert resource['properties'] == {'floor': '2', 'vendor': 'acme'}
    assert resource['reservable'] is True
    assert resource['holds'] == []
    shown = admin('GET', f'/resources/{resource["id"]}').json['resource']
    assert shown == {**resource, 'reservations': []}
    add(admin, 'fem')
    listed = admin('GET', f'/resources{OF_TYPE}').json['resources']
    assert [each['name'] for each in listed] == ['cad', 'fem']
    named = admin('GET', f'/resources{OF_TYPE}&name=cad').json['resources']
    assert named == [resource]


def test_a_long_list_has_pages(admin):
    for name in ('a', 'b', 'c'):
        add(admin, name)
    first = admin('GET', f'/resources{OF_TYPE}&limit=2').json
    [link] = first['resources_links']
    second = admin(
        'GET', link['href'].partition('/os-reservations/v1')[2]
    ).json
    names = [each['name'] for each in first['resources'] + second['resources']]
    assert names == ['a', 'b', 'c']
    assert 'resources_links' not in second


def test_the_lease_that_has_a_resource_is_shown_to_operators(admin, member):
    resource = add(admin)
    mine = lease(member, 3)
    [reservation] = admin('GET', f'/resources/{resource["id"]}').json[
        'resource'
    ]['reservations']
    assert reservation['lease_id'] == mine['id']
    assert reservation['amounts'] == {'SEATS': 3}


@pytest.mark.parametrize(
    ('body', 'told'),
    [
        ({'resource_type': 'example:moon', 'name': 'a'}, 'there are: example'),
        ({'resource_type': 'physical:host', 'name': 'a'}, 'os-hosts'),
        ({'resource_type': TYPE}, 'name'),
        ({'resource_type': TYPE, 'name': ''}, 'name'),
        ({'resource_type': TYPE, 'name': 'a\0'}, 'NUL'),
        ({'resource_type': TYPE, 'name': 'a', 'x': 1}, 'x'),
        *(
            (
                {'resource_type': TYPE, 'name': 'a', 'inventories': wrong},
                'inventor',
            )
            for wrong in (
                {'SEATS': 0},
                {'SEATS': -1},
                {'SEATS': '4'},
                {'SEATS': 2**31},
                {'SEATS': None},
                {'seats': 1},
                {'': 1},
                [],
            )
        ),
        (
            {
                'resource_type': TYPE,
                'name': 'a',
                'inventories': {'CUSTOM_RESERVATION_1': 1},
            },
            'do not begin with CUSTOM_RESERVATION_',
        ),
        (
            {'resource_type': TYPE, 'name': 'a', 'properties': {'name': 'b'}},
            'no name of a property',
        ),
    ],
)
def test_a_resource_that_makes_no_sense_is_not_added(admin, body, told):
    answer = admin('POST', '/resources', body)
    assert answer.status_int == 400
    assert told in answer.json['error_message']
    assert admin('GET', f'/resources{OF_TYPE}').json == {'resources': []}


def test_a_name_is_taken_once(admin):
    add(admin)
    answer = admin(
        'POST', '/resources', {'resource_type': TYPE, 'name': 'cad'}
    )
    assert answer.status_int == 409
    assert 'There is a resource cad' in answer.json['error_message']


def test_amounts_and_properties_change(admin):
    resource = add(admin, vendor='acme', floor='2')
    answer = change(
        admin,
        resource,
        inventories={'SEATS': 9, 'SITES': 1},
        properties={'floor': None, 'site': 'west'},
    )
    changed = answer.json['resource']
    assert changed['inventories'] == {'SEATS': 9, 'SITES': 1}
    assert changed['properties'] == {'site': 'west', 'vendor': 'acme'}
    changed = change(admin, resource, inventories={'SITES': None})
    assert changed.json['resource']['inventories'] == {'SEATS': 9}


def test_amounts_and_properties_that_are_promised_stay(admin, member):
    resource = add(admin, vendor='acme')
    mine = lease(member, 3, '["==", "$vendor", "acme"]')
    for changes in (
        {'inventories': {'SEATS': 2}},
        {'inventories': {'SEATS': None}},
        {'properties': {'vendor': None}},
    ):
        answer = change(admin, resource, **changes)
        assert answer.status_int == 409
        assert mine['id'] in answer.json['error_message']
    assert change(admin, resource, inventories={'SEATS': 3}).status_int == 200
    answer = admin('DELETE', f'/resources/{resource["id"]}')
    assert answer.status_int == 409
    assert mine['id'] in answer.json['error_message']
    member('DELETE', f'/leases/{mine["id"]}')
    answer = admin('DELETE', f'/resources/{resource["id"]}')
    assert answer.status_int == 204
    answer = admin('GET', f'/resources/{resource["id"]}')
    assert answer.status_int == 404


def test_a_cordoned_resource_is_for_no_new_lease(admin, member):
    resource = add(admin, 'cad', 2)
    add(admin, 'fem', 2)
    later = {'start_date': '2030-05-18 10:00', 'duration': '1h'}
    mine = lease(member, 2, '["==", "$name", "cad"]', **later)
    moves = lease(member, 2, **later)
    member('DELETE', f'/leases/{mine["id"]}')
    answer = change(admin, resource, cordoned=True).json['resource']
    assert (answer['cordoned'], answer['reservable']) == (True, False)
    assert [each['reason'] for each in answer['holds']] == ['cordoned']
    shown = admin('GET', f'/resources/{resource["id"]}').json['resource']
    assert shown['reservations'] == []
    refused = member(
        'POST',
        '/leases',
        {
            'name': 'a',
            **later,
            'reservations': [{'resource_type': TYPE, 'seats': 1}],
        },
    )
    assert refused.status_int == 400
    member('DELETE', f'/leases/{moves["id"]}')
    answer = change(admin, resource, cordoned=False).json['resource']
    assert (answer['cordoned'], answer['reservable']) == (False, True)
    lease(member, 4, **later)


def test_a_host_or_an_unknown_id_is_no_resource_that_is_found(admin, enrolled):
    for path in ('/resources/999', '/resources/x', '/resources/1234567890'):
        assert admin('GET', path).status_int == 404
    host = f'/resources/{enrolled[0]["id"]}'
    assert admin('GET', host).status_int == 404
    assert admin('DELETE', host).status_int == 404
    assert admin('PUT', host, {'cordoned': True}).status_int == 404


def test_members_see_how_much_is_free(admin, member, stranger):
    add(admin, 'cad', 4, vendor='acme')
    add(admin, 'fem', 2)
    lease(stranger, 3, '["==", "$name", "cad"]')
    path = (
        f'/resources/capacity{OF_TYPE}&start=now&end=2030-05-17 12:30'
        '&resource_class=SEATS'
    )

    def counts(query=''):
        return [
            (each['resources'], each['total'], each['available'])
            for each in member('GET', path + query).json['capacity']
        ]

    assert counts() == [(2, 6, 3), (2, 6, 6)]
    acme = '&resource_properties=["==", "$vendor", "acme"]'
    assert counts(acme) == [(1, 4, 1), (1, 4, 4)]
    whole = member('GET', path.replace('&resource_class=SEATS', '')).json
    assert [
        (each['reserved'], each['free']) for each in whole['capacity']
    ] == [(1, 1), (0, 2)]


def test_members_see_when_they_are_taken(admin, member, stranger):
    add(admin)
    theirs = lease(stranger, 3)
    mine = lease(member, 1)
    [shown] = member('GET', f'/resources/calendar{OF_TYPE}').json['resources']
    kinds = [(each['kind'], each.get('lease_id')) for each in shown['windows']]
    assert ('own', mine['id']) in kinds
    assert theirs['id'] not in str(shown)


@pytest.mark.parametrize('path', ['capacity', 'calendar', 'properties'])
def test_a_type_that_is_not_there_is_told(member, path):
    answer = member(
        'GET',
        f'/resources/{path}?resource_type=example:moon'
        + ('&start=now&end=2050-01-01 10:00' if path == 'capacity' else ''),
    )
    assert answer.status_int == 400
    assert 'there are: example:licence' in answer.json['error_message']


def test_members_see_by_which_properties_they_can_ask(admin, member):
    add(admin, vendor='acme')
    admin('POST', '/os-hosts', {'name': 'h1', 'gpu': 'A100'})
    listed = member('GET', f'/resources/properties{OF_TYPE}&detail=True').json
    assert listed['resource_properties'] == [
        {'property': 'vendor', 'private': False, 'values': ['acme']}
    ]
    listed = member('GET', '/os-hosts/properties').json
    assert listed['resource_properties'] == [{'property': 'gpu'}]


def test_an_operator_makes_a_property_private_whatever_has_it(admin, member):
    add(admin, vendor='acme', floor='2')
    changed = admin(
        'PATCH', '/os-hosts/properties/vendor', {'private': True}
    ).json['resource_property']
    assert changed['private']
    listed = member('GET', f'/resources/properties{OF_TYPE}').json
    assert listed['resource_properties'] == [{'property': 'floor'}]
    listed = admin('GET', f'/resources/properties{OF_TYPE}&all=True').json
    assert len(listed['resource_properties']) == 2


def test_a_limit_of_hosts_does_not_count_them(admin, member, services):
    add(admin)
    lease(member, 3)
    used = member('GET', '/limits').json['limits']['absolute']
    assert (used['reservedHostsUsed'], used['reservedSlotsUsed']) == (0, 0)
    assert used['reservedResourcesUsed'] == {f'{TYPE}/SEATS': 3}


def test_operators_see_who_has_which(admin, member, stranger, enrolled):
    add(admin, 'cad', 4)
    held = add(admin, 'fem', 2)
    change(admin, held, cordoned=True)
    theirs = lease(stranger, 1)
    mine = lease(member, 3, start_date='2050-01-01 10:00')
    path = f'/resources/allocations{OF_TYPE}'
    first = admin('GET', f'{path}&limit=1').json
    assert [
        (each['name'], [one['lease_id'] for one in each['reservations']])
        for each in first['allocations']
    ] == [('cad', [theirs['id'], mine['id']])]
    [link] = first['allocations_links']
    rest = link['href'].partition('/os-reservations/v1')[2]
    [other] = admin('GET', rest).json['allocations']
    assert (other['name'], other['reservations']) == ('fem', [])
    assert [each['reason'] for each in other['holds']] == ['cordoned']
    that_day = f'{path}&start=2050-01-01 10:30&end=2050-01-01 10:40'
    [there, _] = admin('GET', that_day).json['allocations']
    assert [one['lease_id'] for one in there['reservations']] == [mine['id']]
