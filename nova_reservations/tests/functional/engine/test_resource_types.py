# SPDX-License-Identifier: Apache-2.0
"""A type of resource that the core knows nothing of."""

import jsonschema
import pytest

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.tests.examples.licences import licences


@pytest.fixture
def folder(tmp_path):
    """A cloud of licences: a file says who may use which."""
    folder = tmp_path / 'licences'
    folder.mkdir()
    return folder


@pytest.fixture
def region(make_region, folder):
    region = make_region(
        types={licences.NAME: licences.Licence},
        monitors=[licences.LicenceMonitor],
    )
    region.types[licences.NAME].conf.set_override(
        'folder', str(folder), group='licences'
    )
    for number in range(2):
        add(region, number)
    return region


def add(region, number):
    return region.resources.add(
        licences.NAME, f'licence {number}', f'licence-{number}', region.now
    )


@pytest.fixture
def used(folder):
    """Return licence -> who may use it, as it is now."""
    return lambda: {file.stem: file.read_text() for file in folder.iterdir()}


def test_it_is_leased_started_and_ended(region, used):
    lease = region.lease_of((licences.NAME, {'seats': '2'}), start=5)
    assert dict(lease.reservations[0].params) == {'seats': 2}
    region.forward(until=4)
    assert used() == {}
    region.forward(until=5)
    assert region.status(lease) == 'ACTIVE'
    assert used() == {'licence 0': 'lessee', 'licence 1': 'lessee'}
    region.forward(until=61)
    assert region.status(lease) == 'TERMINATED'
    assert used() == {}


def test_it_is_not_leased_twice(region):
    region.lease_of((licences.NAME, {'seats': 1}))
    with pytest.raises(exception.NotEnoughResources):
        region.lease_of((licences.NAME, {'seats': 2}))
    region.lease_of((licences.NAME, {'seats': 1}))


def test_one_that_fails_is_replaced(region, folder, used):
    lease = region.lease_of((licences.NAME, {'seats': 1}))
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
    assert region.lease_of((licences.NAME, {'seats': 1}))


def test_one_that_is_said_to_have_failed_is_replaced(region, used):
    region.lease_of((licences.NAME, {'seats': 1}))
    region.work()
    [first] = used()

    def hear(event_type, payload, exchange, priority):
        region.monitoring.on_notification(
            event_type, payload, region.now, exchange, priority
        )

    revoked = {'licence': first}
    # Of what it has not asked for, it hears nothing.
    hear('licence.sold', {}, licences.EXCHANGE, 'warn')
    hear('licence.revoked', revoked, licences.EXCHANGE, 'info')
    hear('licence.revoked', revoked, None, 'warn')
    hear(
        'licence.revoked',
        {'licence': 'that of somebody else'},
        licences.EXCHANGE,
        'warn',
    )
    region.work()
    assert used().keys() == {first}
    hear('licence.revoked', revoked, licences.EXCHANGE, 'warn')
    region.work()
    assert used().keys() - {first}
    assert first not in used()


def test_its_end_is_waited_for(region, folder):
    lease = region.lease_of((licences.NAME, {'seats': 1}))
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
    lease = region.lease_of((licences.NAME, {'seats': 1}))
    region.work()
    region.change(lease, seats=2)
    region.work()
    assert len(used()) == 2


def test_what_there_is_may_be_said_again(region):
    first, second = region.resources.find(licences.NAME)
    assert add(region, 0) == first
    assert region.resources.find(licences.NAME) == [first, second]


def test_one_that_comes_is_for_those_who_lack_it(region, folder, used):
    lease = region.lease_of((licences.NAME, {'seats': 2}))
    region.work()
    (folder / 'licence 0.revoked').touch()
    region.look()
    assert region.see(lease).degraded
    new = add(region, 2)
    region.work()
    assert new.name in used()
    assert not region.see(lease).reservations[0].missing_resources


def test_one_can_go_when_no_lease_has_it(region):
    lease = region.lease_of((licences.NAME, {'seats': 2}))
    one, _ = region.resources.find(licences.NAME)
    with pytest.raises(exception.InvalidState, match='1 reservation holds it'):
        region.resources.remove(one)
    region.delete(lease)
    region.forward(until=2)
    for _ in range(2):
        region.resources.remove(one)
    with pytest.raises(exception.NotEnoughResources):
        region.lease_of((licences.NAME, {'seats': 2}))


def test_hosts_are_not_made_like_that(region):
    with pytest.raises(exception.InvalidInput, match='enrolled'):
        region.resources.add(objects.HOST, 'one', 'one', region.now)


@pytest.mark.parametrize('asked', [{}, {'seats': 0}, {'seats': '1', 'x': 1}])
def test_its_schema_refuses_what_it_can_not_use(asked):
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(asked, licences.Licence.schema)
