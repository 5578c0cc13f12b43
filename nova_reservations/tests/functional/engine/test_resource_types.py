# SPDX-License-Identifier: Apache-2.0
"""A resource type that the core does not know."""

import jsonschema
import pytest

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.db.resources import properties
from nova_reservations.objects import states
from nova_reservations.tests.examples.licences import licence_monitor
from nova_reservations.tests.examples.licences import licences

pytestmark = pytest.mark.usefixtures('long_waits')


@pytest.fixture
def folder(tmp_path):
    """A cloud of licences: a file for each tells who may use it."""
    folder = tmp_path / 'licences'
    folder.mkdir()
    return folder


@pytest.fixture
def region(make_region, folder):
    region = make_region(
        types={licences.NAME: licences.Licence},
        monitors=[licence_monitor.LicenceMonitor],
    )
    region.types[licences.NAME].conf.set_override(
        'folder', str(folder), group='licences'
    )
    for name in ('cad', 'fem'):
        add(region, name, 2)
    return region


def add(region, name, seats, **properties):
    return region.resources.add(
        licences.NAME, name, region.now, {'SEATS': seats}, properties
    )


def find(region):
    return region.resources.find(objects.ResourceQuery(licences.NAME))


def named(region, name):
    return region.resources.named(licences.NAME, name)


def ask(region, seats=1, **asked):
    item = {'seats': seats}
    for key in set(asked) & set(licences.Licence.schema['properties']):
        item[key] = asked.pop(key)
    return region.lease_of((licences.NAME, item), **asked)


@pytest.fixture
def used(folder):
    """Return a function that returns licence -> who may use how many seats
    now."""
    return lambda: {file.stem: file.read_text() for file in folder.iterdir()}


def test_a_licence_is_leased_started_and_ended(region, used):
    lease = ask(region, '3', start=5)
    [reservation] = lease.reservations
    assert reservation.params == {'seats': 3, 'resource_properties': ''}
    region.forward(until=4)
    assert used() == {}
    region.forward(until=5)
    assert region.status(lease) == 'ACTIVE'
    assert sorted(used().values()) == ['lessee: 1', 'lessee: 2']
    region.forward(until=61)
    assert region.status(lease) == 'TERMINATED'
    assert used() == {}


def test_no_more_are_promised_than_there_are(region):
    ask(region, 3)
    with pytest.raises(
        exception.NotEnoughResources,
        match='2 resources match, there is room for 1',
    ):
        ask(region, 2)
    ask(region, 1)
    ask(region, 4, start=60, end=120)


def test_a_start_that_the_type_refuses_leaves_nothing(region, folder):
    lease = ask(region, 4)
    (folder / 'fem.barred').touch()
    region.work()
    assert region.see(lease).status_reason == (
        'The licence fem was refused: it is barred'
    )
    assert [file.name for file in folder.iterdir()] == ['fem.barred']
    region.forward(until=5)
    assert ask(region, 4)


def test_a_licence_with_a_property_can_be_asked_for(region, used):
    add(region, 'eda', 1, vendor='acme')
    wanted = '["==", "$vendor", "acme"]'
    ask(region, resource_properties=wanted)
    region.work()
    assert used() == {'eda': 'lessee: 1'}
    with pytest.raises(
        exception.NotEnoughResources, match='1 resource matches'
    ):
        ask(region, resource_properties=wanted)
    ask(region, resource_properties='["==", "$name", "fem"]')


@pytest.mark.parametrize(
    ('asked', 'refusal'),
    [
        ('["==", "$vendor", "acme"]', 'no resource has a property vendor'),
        ('["==", "$vcpus", "4"]', 'no resource has a property vcpus'),
        ('{"trait:HW_CPU": "required"}', 'only hosts have traits'),
        ('["==", "$id", "cad"]', 'id is a number'),
    ],
)
def test_properties_that_can_not_be_asked_for_are_told(region, asked, refusal):
    with pytest.raises(exception.InvalidInput, match=refusal):
        ask(region, resource_properties=asked)


def test_how_many_there_must_be_can_be_asked_for(region, used):
    add(region, 'site', 10)
    ask(region, resource_properties='[">=", "$inventory:SEATS", "5"]')
    region.work()
    assert used() == {'site': 'lessee: 1'}


def test_a_licence_that_fails_is_replaced(region, folder, used):
    lease = ask(region)
    region.work()
    [first] = used()
    (folder / f'{first}.revoked').touch()
    region.look()
    (folder / f'{first}.revoked').unlink()
    [second] = used()
    assert second != first
    [reservation] = region.see(lease).reservations
    assert reservation.resources_changed
    region.look()
    assert ask(region, 3)


def test_a_licence_that_is_said_to_have_failed_is_replaced(region, used):
    ask(region)
    region.work()
    [first] = used()

    def hear(event_type, payload, exchange, priority):
        region.monitoring.on_notification(
            event_type, payload, region.now, exchange, priority
        )

    revoked = {'licence': first}
    # The monitor hears only notifications that it has asked for.
    hear('licence.sold', {}, licence_monitor.EXCHANGE, 'warn')
    hear('licence.revoked', revoked, licence_monitor.EXCHANGE, 'info')
    hear('licence.revoked', revoked, None, 'warn')
    hear(
        'licence.revoked',
        {'licence': 'that of somebody else'},
        licence_monitor.EXCHANGE,
        'warn',
    )
    region.work()
    assert used().keys() == {first}
    hear('licence.revoked', revoked, licence_monitor.EXCHANGE, 'warn')
    region.work()
    assert used().keys() - {first}
    assert first not in used()


def test_the_end_of_a_licence_is_waited_for(region, folder):
    lease = ask(region)
    region.forward(until=59)
    [file] = folder.iterdir()
    file.with_suffix('.in-use').touch()
    region.forward(until=61)
    assert (
        region.see(lease).status_reason == f'Somebody works with {file.stem}'
    )
    file.with_suffix('.in-use').unlink()
    region.forward(until=62)
    assert region.status(lease) == 'TERMINATED'


def test_an_active_lease_of_it_grows(region, used):
    lease = ask(region)
    region.work()
    region.change(lease, seats=2)
    region.work()
    assert list(used().values()) == ['lessee: 2']


def test_a_licence_that_comes_is_for_leases_that_lack_it(region, folder, used):
    lease = ask(region, 4)
    region.work()
    (folder / 'cad.revoked').touch()
    region.look()
    assert region.see(lease).degraded
    (folder / 'cad.revoked').unlink()
    add(region, 'new', 2)
    region.work()
    assert used().keys() == {'fem', 'new'}
    assert not region.see(lease).reservations[0].missing_resources


def test_more_seats_of_a_licence_are_for_leases_that_wait(region):
    ask(region, 4)
    lease = ask(region, lease_type=states.LeaseType.RETRY)
    region.work()
    assert region.status(lease) == 'CREATING'
    region.resources.update(named(region, 'cad').id, region.now, {'SEATS': 3})
    region.work()
    assert region.status(lease) == 'ACTIVE'


def test_a_licence_can_go_when_no_lease_has_it(region):
    lease = ask(region, 4)
    one = named(region, 'cad')
    with pytest.raises(
        exception.ResourceInUse, match=f'cad is in use: .*{lease.id}'
    ):
        region.resources.remove(one.id)
    region.delete(lease)
    region.forward(until=2)
    region.resources.remove(one.id)
    with pytest.raises(exception.NotFound):
        region.resources.remove(one.id)
    with pytest.raises(exception.NotEnoughResources):
        ask(region, 3)


def test_no_fewer_are_left_than_are_promised(region):
    lease = ask(region, 4, start=60, end=120)
    one = named(region, 'cad')
    for left in 1, None:
        with pytest.raises(
            exception.ResourceInUse,
            match=f'2 SEATS are promised .*{left or 0} would be left.*'
            f'{lease.id}',
        ):
            region.resources.update(one.id, region.now, {'SEATS': left})
    region.delete(lease)
    for left in (1, None):
        region.resources.update(one.id, region.now, {'SEATS': left})
    assert named(region, 'cad').inventories == {}
    with pytest.raises(exception.NotEnoughResources):
        ask(region, 3)


def test_seats_of_a_lease_that_is_over_and_not_given_back_are_promised(
    region, folder
):
    ask(region, 4)
    region.forward(until=59)
    for file in list(folder.iterdir()):
        file.with_suffix('.in-use').touch()
    region.forward(until=70)
    with pytest.raises(exception.ResourceInUse):
        region.resources.update(
            named(region, 'cad').id, region.now, {'SEATS': 1}
        )


def test_a_property_that_a_lease_was_planned_with_stays(region):
    one = add(region, 'eda', 1, vendor='acme', floor='1')
    ask(region, resource_properties='["==", "$vendor", "acme"]')

    def change(**properties):
        return region.resources.update(
            one.id, region.now, properties=properties
        )

    for value in 'other', None:
        with pytest.raises(
            exception.ResourceInUse, match='planned with vendor'
        ):
            change(vendor=value)
    assert change(floor=None, site='west').properties == {
        'vendor': 'acme',
        'site': 'west',
    }


def test_a_licence_of_a_lease_that_has_changed_is_healed(region, used):
    """The property is changed in the database, as operators are not allowed
    to."""
    one = add(region, 'eda', 1, vendor='acme')
    add(region, 'eda 2', 1, vendor='acme')
    lease = ask(region, resource_properties='["==", "$vendor", "acme"]')
    region.work()
    [first] = used()
    one = named(region, first)
    with region.database.writer() as session:
        properties.assign(session, one.id, {'vendor': None}, region.now)
    assert region.healing.heal(region.now) == [lease.id]
    region.look()
    assert used().keys() == {'eda', 'eda 2'} - {first}
    assert region.status(lease) == 'ACTIVE'


def test_a_name_is_of_a_single_licence(region):
    with pytest.raises(exception.ResourceExists, match='cad'):
        add(region, 'cad', 5)
    assert [each.name for each in find(region)] == ['cad', 'fem']


def test_a_uuid_is_of_a_single_licence(region):
    def insert(name):
        return region.resources.add(
            licences.NAME, name, region.now, uuid='its id in the cloud'
        )

    assert insert('one').resource.uuid == 'its id in the cloud'
    with pytest.raises(exception.ResourceExists, match='one'):
        insert('two')


def test_hosts_are_not_made_like_that(region):
    with pytest.raises(exception.InvalidInput, match='enrolled'):
        region.resources.add(objects.HOST, 'one', region.now)


def test_a_type_must_be_there(region):
    with pytest.raises(
        exception.InvalidInput, match='there are: example:licence'
    ):
        region.resources.add('example:license', 'one', region.now)


@pytest.mark.parametrize(
    ('inventories', 'refusal'),
    [
        ({'SEATS': 0}, 'must be from 1'),
        ({'SEATS': 2**31}, 'must be from 1'),
        ({'seats': 1}, 'seats is no resource class'),
        ({'CUSTOM_RESERVATION_X': 1}, 'is no resource class'),
    ],
)
def test_an_inventory_that_makes_no_sense_is_refused(
    region, inventories, refusal
):
    with pytest.raises(exception.InvalidInput, match=refusal):
        region.resources.add(licences.NAME, 'one', region.now, inventories)
    with pytest.raises(exception.NotFound):
        named(region, 'one')


@pytest.mark.parametrize('name', ['name', 'id', 'inventory:X', '', 'x' * 65])
def test_a_property_that_is_a_fact_is_refused(region, name):
    with pytest.raises(exception.InvalidInput, match='no name of a property'):
        region.resources.add(
            licences.NAME, 'one', region.now, properties={name: '1'}
        )


@pytest.mark.parametrize('asked', [{}, {'seats': 0}, {'seats': '1', 'x': 1}])
def test_the_schema_of_a_type_refuses_what_it_can_not_use(asked):
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(asked, licences.Licence.schema)
