# SPDX-License-Identifier: Apache-2.0
"""Floating IPs are leased, alone and with hosts."""

import dataclasses

import pytest

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.objects.address import FLOATING_IP
from nova_reservations.testing import addresses
from nova_reservations.testing.addresses import asked
from nova_reservations.testing.addresses import there
from nova_reservations.types.neutron import fake_networks


@pytest.fixture
def region(make_region):
    """Two hosts, and three addresses."""
    region = make_region(
        'one', 'two', types=addresses.TYPES, monitors=addresses.MONITORS
    )
    addresses.enrol(region, 101, 102, 103)
    return region


def hosts(minimum=1):
    return objects.HOST, {'min': minimum, 'max': minimum}


def test_the_project_has_them_from_the_start_to_the_end(region):
    lease = region.lease_of(asked(2), start=5)
    region.forward(until=4)
    assert there(region) == {}
    region.forward(until=5)
    assert region.status(lease) == 'ACTIVE'
    assert set(there(region).values()) == {'lessee'}
    assert len(there(region)) == 2
    for made in region.cloud.floating_ips.values():
        assert made.is_tagged
        assert made.words >= {
            'blazar',
            f'reservation:{lease.reservations[0].id}',
        }
    region.forward(until=61)
    assert region.status(lease) == 'TERMINATED'
    assert there(region) == {}


def test_an_active_lease_shows_which_they_are(region):
    lease = region.lease_of(asked(2, 103))
    region.work()
    lease = region.see(lease)
    shown = region.lease_lists.usage(lease, lease.reservations[0])
    assert '203.0.113.103' in shown['floatingips']
    assert len(shown['floatingips']) == 2


def test_an_address_that_is_asked_for_is_given(region):
    for number in 103, 101, 102:
        region.lease_of(asked(1, number), project=f'p{number}')
    region.work()
    assert there(region) == {101: 'p101', 102: 'p102', 103: 'p103'}


def test_the_others_are_any(region):
    lease = region.lease_of(asked(2, 102))
    region.work()
    assert region.status(lease) == 'ACTIVE'
    assert 102 in there(region)
    assert len(there(region)) == 2


def test_an_address_that_is_taken_is_refused_to_the_next(region):
    region.lease_of(asked(1, 102))
    with pytest.raises(exception.NotEnoughResources, match='by their names'):
        region.lease_of(asked(1, 102))
    with pytest.raises(exception.NotEnoughResources, match='3 floating IPs'):
        region.lease_of(asked(3))
    region.lease_of(asked(2))


def test_two_reservations_of_a_lease_do_not_share_one(region):
    with pytest.raises(exception.NotEnoughResources):
        region.lease_of(asked(1, 102), asked(1, 102))
    region.lease_of(asked(1, 102), asked(2, 103))


def test_a_promise_of_any_makes_way_for_one_who_needs_it(region):
    """A promise of any address moves as one of any host does: decision
    0031."""
    first = region.lease_of(asked(1, 101), start=30)
    second = region.lease_of(asked(1), start=30)
    [taken] = names(region, second)
    third = region.lease_of(asked(1, taken), start=30)
    assert names(region, third) == {taken}
    assert names(region, first) == {101}
    assert len(names(region, second) - {taken}) == 1


def names(region, lease):
    return {
        int(name.partition('@')[0].rpartition('.')[2])
        for name in region.hosts_of(lease)
    }


def test_an_address_that_is_not_enrolled_is_refused(region):
    with pytest.raises(exception.InvalidInput, match=r'203\.0\.113\.104'):
        region.lease_of(asked(1, 104))


@pytest.mark.parametrize(
    ('more', 'said'),
    [
        ({'required_floatingips': ['::1', '::2', '::3']}, 'Too'),
        ({'required_floatingips': ['a house']}, 'IP address a house'),
        ({'network_id': 'no such'}, 'Failed to find network no such'),
    ],
)
def test_a_request_that_makes_no_sense_is_refused(region, more, said):
    with pytest.raises(exception.InvalidInput, match=said):
        region.lease_of(asked(2, **more))


def test_a_network_that_the_project_does_not_see_is_unknown_to_it(region):
    region.cloud.network_projects[fake_networks.EXTERNAL] = {'lessee'}
    region.lease_of(asked(1))
    with pytest.raises(exception.InvalidInput, match='Failed to find'):
        region.lease_of(asked(1), project='other')


def test_a_network_that_is_not_external_has_none(region):
    inner = fake_networks.external(id='inner', external=False)
    region.cloud.networks_known['inner'] = inner
    with pytest.raises(exception.InvalidInput, match='not external'):
        region.lease_of(asked(1, network_id='inner'))


def test_a_lease_of_hosts_and_addresses_is_refused_as_a_whole(region):
    for refused in (hosts(3), asked(1)), (hosts(1), asked(4)):
        with pytest.raises(exception.NotEnoughResources):
            region.lease_of(*refused)
    region.lease_of(hosts(2), asked(3))


def test_a_lease_of_both_starts_and_ends_as_a_whole(region):
    lease = region.lease_of(hosts(2), asked(1))
    region.work()
    assert region.status(lease) == 'ACTIVE'
    assert region.aggregate_of(lease) == {'one', 'two'}
    assert len(there(region)) == 1
    region.forward(until=62)
    assert region.status(lease) == 'TERMINATED'
    assert region.aggregate_of(lease) is None
    assert there(region) == {}


def test_a_start_that_lacks_an_address_is_undone_as_a_whole(region):
    lease = region.lease_of(hosts(2), asked(3))
    stranger = addresses.take(region, 102)
    region.work()
    seen = region.see(lease)
    assert seen.status == 'ERROR'
    assert seen.status_reason == (
        'The floating IP 203.0.113.102 was refused: somebody else has this '
        'address: an administrator has to look at it'
    )
    assert region.aggregate_of(lease) is None
    assert region.cloud.floating_ips.keys() == {stranger}
    assert region.lease(minimum=2)


def test_a_project_without_quota_gets_nothing_and_is_told(region):
    region.cloud.without_quota.add('lessee')
    lease = region.lease_of(hosts(1), asked(1))
    region.work()
    assert region.status(lease) == 'ERROR'
    assert region.aggregate_of(lease) is None


def test_the_end_leaves_and_waits_for_what_is_somebody_elses(region):
    lease = region.lease_of(asked(1, 102))
    region.work()
    region.cloud.floating_ips.clear()
    stranger = addresses.take(region, 102)
    region.forward(until=61)
    seen = region.see(lease)
    assert seen.status == 'TERMINATING'
    assert seen.status_reason.startswith(
        'somebody else has the address 203.0.113.102'
    )
    assert 'other' not in seen.status_reason
    assert 'of project other' in seen.status_detail
    assert stranger in region.cloud.floating_ips
    del region.cloud.floating_ips[stranger]
    region.forward(until=63)
    assert region.status(lease) == 'TERMINATED'


def test_an_address_with_other_tags_is_deleted_all_the_same(region):
    lease = region.lease_of(asked(1))
    region.work()
    [made] = region.cloud.floating_ips.values()
    region.cloud.floating_ips[made.id] = dataclasses.replace(
        made, words=frozenset({'mine'}), is_tagged=False
    )
    region.look()
    assert not region.see(lease).reservations[0].resources_changed
    region.forward(until=61)
    assert region.status(lease) == 'TERMINATED'
    assert there(region) == {}


def test_a_start_that_is_given_up_leaves_no_address_with_other_tags(
    region, monkeypatch
):
    def silent(*_):
        raise exception.CloudUnavailable(service='Neutron', reason='silent')

    lease = region.lease_of(asked(2, 101))
    # One address exists, and has lost its tags, when Neutron falls silent.
    addresses.take(region, 101, 'lessee')
    with monkeypatch.context() as broken:
        broken.setattr(region.cloud.networks, 'create_floating_ip', silent)
        broken.setattr(region.cloud.networks, 'tag', silent)
        region.work()
    assert region.status(lease) == 'STARTING'
    region.delete(lease)
    region.work()
    assert there(region) == {}


def test_a_lease_that_never_began_takes_nothing_from_another(region):
    """Blazar would find the other lease's address by its number, and delete
    it."""
    region.lease_of(asked(3), end=30)
    region.work()
    later = region.lease_of(asked(3), start=30, end=60)
    region.delete(later)
    region.work()
    assert len(there(region)) == 3


def test_a_lease_follows_another_on_the_same_address(region):
    first = region.lease_of(asked(3), end=30)
    second = region.lease_of(asked(3), start=30, end=60, project='other')
    region.forward(until=31)
    assert region.status(first) == 'TERMINATED'
    assert region.status(second) == 'ACTIVE'
    assert set(there(region).values()) == {'other'}


def test_a_start_waits_while_neutron_is_silent_and_says_so(region):
    lease = region.lease_of(hosts(1), asked(1))
    other = region.lease()
    region.cloud.neutron_is_silent = True
    region.work()
    seen = region.see(lease)
    assert seen.status == 'STARTING'
    assert seen.status_reason == 'Neutron can not be reached at this moment'
    assert region.status(other) == 'ACTIVE'
    region.cloud.neutron_is_silent = False
    region.forward(until=1)
    assert region.status(lease) == 'ACTIVE'
    region.cloud.neutron_is_silent = True
    region.forward(until=61)
    assert region.status(lease) == 'TERMINATING'
    assert len(there(region)) == 1
    region.cloud.neutron_is_silent = False
    region.forward(until=62)
    assert region.status(lease) == 'TERMINATED'
    assert there(region) == {}


def test_while_neutron_is_silent_only_such_leases_are_refused(region):
    region.cloud.neutron_is_silent = True
    region.lease()
    with pytest.raises(exception.CloudUnavailable):
        region.lease_of(asked(1))


def test_an_active_lease_grows_and_does_not_shrink(region):
    lease = region.lease_of(asked(1))
    region.work()
    region.change(lease, amount=2)
    region.work()
    assert len(there(region)) == 2
    with pytest.raises(exception.InvalidState, match='give addresses back'):
        region.change(lease, amount=1)
    with pytest.raises(exception.InvalidState, match='emptied'):
        region.change(lease, required_floatingips=['203.0.113.103'])
    assert region.status(lease) == 'ACTIVE'


def test_a_lease_that_waits_changes_as_it_likes(region):
    lease = region.lease_of(asked(1, 101), start=30)
    region.change(lease, required_floatingips=['203.0.113.103'], amount=2)
    assert 103 in names(region, lease)
    region.change(lease, amount=1)
    assert names(region, lease) == {103}


def test_another_address_replaces_one_that_somebody_has_taken(region):
    lease = region.lease_of(asked(1))
    region.work()
    [last] = there(region)
    region.cloud.floating_ips.clear()
    addresses.take(region, last)
    region.look()
    [reservation] = region.see(lease).reservations
    assert reservation.resources_changed
    assert sorted(there(region).values()) == ['lessee', 'other']
    assert there(region)[last] == 'other'


def test_without_another_the_lease_lacks_one(region):
    lease = region.lease_of(asked(3))
    region.work()
    region.cloud.network_ports[(fake_networks.EXTERNAL, '203.0.113.101')] = 'p'
    region.look()
    assert region.see(lease).degraded
    assert region.see(lease).reservations[0].missing_resources
    region.cloud.network_ports.clear()
    region.look()
    assert not region.see(lease).degraded


def test_a_network_that_is_gone_is_told(region):
    lease = region.lease_of(asked(1), start=30)
    network = region.cloud.networks_known.pop(fake_networks.EXTERNAL)
    region.look()
    assert region.see(lease).degraded
    region.cloud.networks_known[network.id] = network
    region.look()
    assert not region.see(lease).degraded


def test_nothing_is_known_to_have_failed_while_neutron_is_silent(region):
    lease = region.lease_of(asked(1))
    region.work()
    region.cloud.neutron_is_silent = True
    region.look()
    assert not region.see(lease).degraded
    assert region.status(lease) == 'ACTIVE'


def enrol(region, address, network_id=fake_networks.EXTERNAL):
    addresses.enrol_at(region, network_id, address)


@pytest.mark.parametrize(
    ('address', 'error', 'said'),
    [
        ('a house', exception.InvalidInput, 'IP address a house'),
        ('203.0.113.2', exception.InvalidInput, 'allocation pool'),
        ('203.0.113.99', exception.InvalidInput, 'allocation pool'),
        ('203.0.113.1', exception.InvalidInput, 'gateway'),
        ('203.0.113.255', exception.NotFound, 'Subnet'),
        ('198.51.100.7', exception.NotFound, 'Subnet'),
        ('203.0.113.101', exception.ResourceExists, 'already'),
    ],
)
def test_an_address_that_others_may_get_is_not_enrolled(
    region, address, error, said
):
    with pytest.raises(error, match=said):
        enrol(region, address)


def test_an_address_that_somebody_has_is_not_enrolled(region):
    addresses.take(region, 120)
    region.cloud.network_ports[(fake_networks.EXTERNAL, '203.0.113.121')] = 'p'
    for number in 120, 121:
        with pytest.raises(exception.InvalidState, match='of Neutron has it'):
            enrol(region, f'203.0.113.{number}')


def test_an_address_is_removed_when_no_lease_has_it(region):
    lease = region.lease_of(asked(1, 101))
    places = region.services.places
    found = places.find(FLOATING_IP)
    last = [each.name.partition('@')[0][-3:] for each in found]
    assert last == ['101', '102', '103']
    with pytest.raises(exception.ResourceInUse, match=lease.id):
        places.remove(FLOATING_IP, found[0].resource.uuid)
    places.remove(FLOATING_IP, found[1].resource.uuid)
    region.delete(lease)
    region.work()
    places.remove(FLOATING_IP, found[0].resource.uuid)
    with pytest.raises(exception.NotFound):
        places.remove(FLOATING_IP, found[0].resource.uuid)
    assert len(places.find(FLOATING_IP)) == 1
    addresses.enrol(region, 101)


def test_an_added_address_is_for_leases_that_lack_it(region):
    lease = region.lease_of(asked(3))
    region.work()
    addresses.take(region, 199)
    region.cloud.network_ports[(fake_networks.EXTERNAL, '203.0.113.101')] = 'p'
    region.look()
    assert region.see(lease).degraded
    addresses.enrol(region, 104)
    region.work()
    assert 104 in there(region)
    assert not region.see(lease).reservations[0].missing_resources


@pytest.fixture
def auditor(region):
    return region.services.audit


def problems(auditor, region):
    return [finding.problem for finding in auditor.findings(region.now)]


def repair(auditor, region):
    for finding in auditor.findings(region.now):
        assert finding.repair is not None, finding.problem
        finding.repair()
    region.work()


def test_an_audit_finds_nothing_wherever_a_lease_is(region, auditor):
    region.lease_of(hosts(1), asked(2), start=5)
    for minute in 4, 5, 59, 62:
        region.forward(until=minute)
        assert problems(auditor, region) == []


def test_an_audit_brings_back_what_was_deleted(region, auditor):
    lease = region.lease_of(asked(1, 102))
    region.work()
    region.cloud.floating_ips.clear()
    assert problems(auditor, region) == [
        f'Floating IP 203.0.113.102 of reservation {lease.reservations[0].id} '
        'is not in Neutron, or without its tags'
    ]
    repair(auditor, region)
    assert there(region) == {102: 'lessee'}
    assert problems(auditor, region) == []


def test_an_audit_deletes_what_is_of_no_lease_any_more(region, auditor):
    region.lease_of(asked(1, 102))
    region.work()
    [made] = region.cloud.floating_ips.values()
    region.forward(until=62)
    region.cloud.floating_ips[made.id] = made
    [problem] = problems(auditor, region)
    assert 'is of no lease any more' in problem
    repair(auditor, region)
    assert there(region) == {}


def test_an_audit_leaves_what_is_of_another_database(region, auditor):
    mark = ports.Mark('of another', 'another database')
    stranger = addresses.take(region, 102)
    made = region.cloud.floating_ips[stranger]
    region.cloud.floating_ips[stranger] = dataclasses.replace(
        made, words=frozenset(mark.tags), is_tagged=True
    )
    [finding] = auditor.findings(region.now)
    assert finding.repair is None
    assert 'of this database' in finding.problem


def test_an_audit_names_what_others_may_get(region, auditor):
    stranger = addresses.take(region, 102)
    [problem] = problems(auditor, region)
    assert f'floating IP {stranger} of project other has it' in problem
    region.cloud.floating_ips.clear()
    network = fake_networks.external()
    [subnet] = network.subnets
    wider = dataclasses.replace(
        subnet, pools=(('203.0.113.2', '203.0.113.102'),)
    )
    region.cloud.networks_known[network.id] = dataclasses.replace(
        network, subnets=(wider,)
    )
    found = problems(auditor, region)
    assert [problem[:21] for problem in found] == [
        'Address 203.0.113.101',
        'Address 203.0.113.102',
    ]
    region.cloud.networks_known.clear()
    [problem] = problems(auditor, region)
    assert 'is not there' in problem


def test_an_audit_asks_neutron_only_where_addresses_can_be_leased(make_region):
    region = make_region('one')
    region.cloud.neutron_is_silent = True
    auditor = region.services.audit
    assert problems(auditor, region) == []
