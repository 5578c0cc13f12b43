# SPDX-License-Identifier: Apache-2.0
"""``openstack lease resource``, and what other commands show of resources
that are no hosts, against the API over HTTP."""

import json

import pytest

TYPE = 'example:licence'
TO_COME = ('--start=2050-01-01 10:00', '--end=2050-01-01 11:00')


@pytest.fixture
def run(openstack, admin, licence_type):
    return openstack(admin, 'lease')


@pytest.fixture
def mine(openstack, member, licence_type):
    """Run a command as a member."""
    return openstack(member, 'lease')


def read(run, *words):
    said = run(*words, '-f', 'json')
    try:
        return json.loads(said)
    except ValueError:
        raise AssertionError(said) from None


def add(run, name='cad', seats=4, *more):
    inventory = f'--inventory=SEATS={seats}'
    return read(run, 'resource', 'create', TYPE, name, inventory, *more)


def lease(run, name, seats, *more):
    asked = json.dumps({'resource_type': TYPE, 'seats': seats})
    words = ('create', name, f'--reservation={asked}', *TO_COME, *more)
    return read(run, *words)


def test_an_added_resource_is_listed_and_shown(run):
    made = add(run, 'cad', 4, '--property=vendor=acme', '--property=floor=2')
    assert made['Type'] == TYPE
    add(run, 'fem', 1, '--uuid=of-its-own')
    cad, fem = read(run, 'resource', 'list', TYPE)
    assert cad == {
        'ID': made['ID'],
        'Name': 'cad',
        'Inventories': {'SEATS': 4},
        'Properties': {'vendor': 'acme', 'floor': '2'},
        'Reservable': True,
        'Held': [],
    }
    assert read(run, 'resource', 'show', TYPE, 'fem')['UUID'] == 'of-its-own'
    listing = ('resource', 'list', TYPE)
    assert read(run, *listing, '--limit=1') == [cad]
    assert read(run, *listing, f'--marker={cad["ID"]}') == [fem]


def test_the_lease_that_has_a_resource_is_shown(run, mine):
    add(run)
    lease_id = lease(mine, 'workshop', 3)['id']
    shown = run('resource', 'show', TYPE, 'cad')
    assert f'lease {lease_id} has 3 SEATS: 2050-01-01 10:00' in shown


def test_a_resource_changes_only_in_what_is_given(run):
    add(run, 'cad', 4, '--property=vendor=acme', '--property=floor=2')
    change = ('resource', 'set', TYPE, 'cad')
    changed = read(
        *(run, *change, '--inventory=SEATS=6', '--inventory=SITES=1'),
        *('--property=site=west', '--no-property=floor'),
    )
    assert changed['Inventories'] == {'SEATS': 6, 'SITES': 1}
    assert changed['Properties'] == {'vendor': 'acme', 'site': 'west'}
    changed = read(run, *change, '--no-inventory=SITES', '--cordon')
    assert changed['Inventories'] == {'SEATS': 6}
    assert (changed['Reservable'], changed['Held']) == (False, ['cordoned'])
    assert read(run, *change, '--uncordon')['Reservable']
    assert 'Nothing to change was given' in run(*change)


def test_resources_of_leases_are_not_removed_and_the_others_are(run, mine):
    add(run, 'cad', 3)
    lease_id = lease(mine, 'workshop', 3)['id']
    add(run, 'fem', 1)
    said = run('resource', 'delete', TYPE, 'cad', 'moon', 'fem')
    assert f'cad: Resource cad is in use: leases have it: {lease_id}' in said
    assert f'moon: No resource of type {TYPE} has the name moon' in said
    [left] = read(run, 'resource', 'list', TYPE)
    assert left['Name'] == 'cad'
    said = run('resource', 'set', TYPE, 'cad', '--inventory=SEATS=2')
    assert '3 SEATS are promised at some instant, 2 would be left' in said


@pytest.mark.parametrize(
    ('words', 'reason'),
    [
        (('list', 'example:moon'), f'there are: {TYPE}'),
        (('create', 'example:moon', 'a'), f'there are: {TYPE}'),
        (('create', 'physical:host', 'a'), 'enrolled and removed by os-hosts'),
        (('create', TYPE, 'cad'), 'There is a resource cad'),
        (('create', TYPE, 'a', '--inventory=seats=1'), 'A-Z, 0-9 and _'),
        (('create', TYPE, 'a', '--inventory=SEATS'), 'such as SEATS=20'),
        (('create', TYPE, 'a', '--inventory=SEATS=-1'), 'such as SEATS=20'),
        (('create', TYPE, 'a', '--inventory=SEATS=0'), 'SEATS'),
        (('create', TYPE, 'a', '--property=vendor'), 'vendor'),
        (('create', TYPE, 'a', '--property=name=b'), 'no name of a property'),
        (('set', TYPE, 'moon', '--cordon'), 'has the name moon'),
        (('show', TYPE, 'moon'), 'has the name moon'),
    ],
)
def test_a_mistake_is_told_in_words_that_help(run, words, reason):
    add(run)
    assert reason in run('resource', *words)
    assert len(read(run, 'resource', 'list', TYPE)) == 1


def test_members_are_told_that_they_may_not(run, mine):
    add(run)
    for words in (('create', TYPE, 'a'), ('list', TYPE)):
        assert 'You may not do this' in mine('resource', *words)


def test_how_much_is_free_is_shown(run, mine):
    add(run, 'cad', 4, '--property=vendor=acme')
    add(run, 'fem', 2)
    lease(mine, 'workshop', 3)
    asked = ('capacity', *TO_COME, f'--resource-type={TYPE}')
    [whole] = read(mine, *asked)
    assert whole['Resources'] == 2
    assert 'Units' not in whole
    [units] = read(mine, *asked, '--resource-class=SEATS')
    assert (units['Units'], units['Available']) == (6, 3)
    acme = '--resource-properties=["==", "$vendor", "acme"]'
    [units] = read(mine, *asked, '--resource-class=SEATS', acme)
    assert units['Units'] == 4
    assert '--flavor: of hosts alone' in mine(*asked, '--flavor=1')
    said = mine('capacity', *TO_COME, '--resource-class=SEATS')
    assert '--resource-class needs --resource-type' in said


def test_a_calendar_is_drawn_of_them(run, mine, openstack, stranger):
    add(run, 'cad', 4)
    lease(mine, 'workshop', 3)
    lease(openstack(stranger, 'lease'), 'theirs', 1)
    words = ('calendar', '--start=2050-01-01', '--end=2050-01-02')
    seen = mine(*words, f'--resources={TYPE}')
    assert 'resource 1' in seen
    assert 'leased by your project' in seen
    assert 'shared by others' in seen
    assert 'theirs' not in seen
    assert 'cad' in run(*words, f'--resources={TYPE}')
    assert f'there are: {TYPE}' in mine(*words, '--resources=example:moon')


def test_hours_of_their_units_are_told(run, mine, member, workers, clock):
    add(run)
    asked = {'resource_type': TYPE, 'seats': 3, 'resource_properties': ''}
    member.lease(reservations=[asked])
    workers.work(5)
    clock.forward(minutes=30)
    [line] = read(mine, 'usage')
    assert line['Other hours'].startswith('SEATS: 1.5')
