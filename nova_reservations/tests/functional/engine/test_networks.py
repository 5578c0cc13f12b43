# SPDX-License-Identifier: Apache-2.0
"""Networks on segments of physical networks are leased, alone and with
hosts."""

import dataclasses

import pytest

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.objects import segment
from nova_reservations.objects import usage
from nova_reservations.testing import segments
from nova_reservations.testing.segments import asked
from nova_reservations.testing.segments import there

HOST = objects.HOST, {'min': 1, 'max': 1}


@pytest.fixture
def region(make_region):
    """Two hosts, and three VLANs."""
    region = make_region(
        'one', 'two', types=segments.TYPES, monitors=segments.MONITORS
    )
    segments.enrol(region, 101, 102, 103)
    return region


def held(region, lease):
    return {int(name.partition('@')[0]) for name in region.hosts_of(lease)}


def let_in(region, lease, server):
    """Record that a server is let into the lease's first reservation."""
    region.access.record_use(
        server,
        lease.reservations[0].id,
        usage.Size('m1', vcpus=1, memory_mb=512, disk_gb=1),
        region.now,
    )


def test_the_project_has_it_from_the_start_to_the_end(region):
    lease = region.lease_of(
        asked(102, network_description='of the lab'), start=5
    )
    region.forward(until=4)
    assert there(region) == {}
    region.forward(until=5)
    assert region.status(lease) == 'ACTIVE'
    [made] = region.cloud.segment_networks.values()
    assert (made.segment, made.project_id) == (segments.on(102), 'lessee')
    assert (made.name, made.is_tagged) == ('lab', True)
    assert made.reservation_id == lease.reservations[0].id
    lease = region.see(lease)
    assert region.lease_lists.usage(lease, lease.reservations[0]) == {
        'networks': [
            {
                'id': made.id,
                'physical_network': 'physnet1',
                'segment_id': 102,
            }
        ]
    }
    region.forward(until=61)
    assert region.status(lease) == 'TERMINATED'
    assert there(region) == {}


def test_the_type_has_two_names_and_one_pool(region):
    for kind in 'network', 'virtual:network', 'network':
        region.lease_of((kind, asked()[1]))
    for kind in 'network', 'virtual:network':
        with pytest.raises(exception.NotEnoughResources):
            region.lease_of((kind, asked()[1]))
    region.work()
    assert there(region).keys() == {101, 102, 103}


def test_a_network_is_on_a_segment_that_meets_both_requirements(region):
    segments.enrol(region, 7, physical_network='physnet2', stitching='yes')
    wanted = {
        'network_properties': '["==", "$physical_network", "physnet2"]',
        'resource_properties': '["==", "$stitching", "yes"]',
    }
    assert held(region, region.lease_of(asked(**wanted))) == {7}
    with pytest.raises(exception.NotEnoughResources):
        region.lease_of(asked(103, resource_properties='{"stitching":"yes"}'))
    with pytest.raises(exception.InvalidInput):
        region.lease_of(asked(network_properties='["nonsense"]'))


def test_a_lease_of_hosts_and_networks_is_all_or_nothing(region):
    for refused in (HOST, *[asked()] * 4), ([*[HOST] * 3, asked()]):
        with pytest.raises(exception.NotEnoughResources):
            region.lease_of(*refused)
    lease = region.lease_of(HOST, asked(101), asked(102))
    stranger = segments.take(region, 102)
    region.work()
    seen = region.see(lease)
    assert seen.status == 'ERROR'
    assert seen.status_reason == (
        'The network 102 of physnet1 was refused: somebody else has this '
        'VLAN: an administrator has to look at it'
    )
    assert region.aggregate_of(lease) is None
    assert region.cloud.segment_networks.keys() == {stranger}


def test_a_project_without_quota_gets_nothing_and_is_told(region):
    region.cloud.without_quota.add('lessee')
    lease = region.lease_of(HOST, asked())
    region.work()
    assert region.status(lease) == 'ERROR'
    assert 'A network on VLAN' in region.see(lease).status_reason
    assert region.aggregate_of(lease) is None


def test_at_the_end_ports_of_its_servers_go_with_it(region):
    lease = region.lease_of(HOST, asked(101))
    region.work()
    let_in(region, lease, 'server')
    for port, owner in ('p', 'compute:nova'), ('q', 'baremetal:none'):
        segments.plug(region, 101, port, owner=owner, device_id='server')
    region.forward(until=62)
    assert region.status(lease) == 'TERMINATED'
    assert there(region) == {}
    assert not any(region.cloud.project_ports.values())


def test_the_end_waits_for_all_other_ports_and_says_which(region):
    lease = region.lease_of(asked(101))
    region.work()
    segments.plug(region, 101, 'bare')
    segments.plug(region, 101, 'other', owner='compute:a', device_id='mine')
    segments.plug(region, 101, 'iface', 'lessee', 'network:ha_router', 'r1')
    segments.plug(region, 101, 'shared', 'p2', 'network:router_x', 'r2')
    region.forward(until=61)
    seen = region.see(lease)
    assert seen.status == 'TERMINATING'
    assert seen.status_reason == (
        'port bare is in the network: delete it; '
        'router r1 has port iface in the network: remove its interface; '
        'port other is in the network: delete it; '
        'port shared is in the network: delete it'
    )
    assert (
        'port shared of project p2, of network:router_x r2, is in the network'
    ) in seen.status_detail
    assert there(region) == {101: 'lessee'}
    [network] = region.cloud.segment_networks
    assert len(region.cloud.project_ports[network]) == 4
    with pytest.raises(exception.NotEnoughResources):
        region.lease_of(asked(101), end=5)
    region.cloud.project_ports.clear()
    region.forward(until=63)
    assert region.status(lease) == 'TERMINATED'
    assert there(region) == {}
    region.lease_of(asked(101))


def test_a_lease_that_is_deleted_is_gone_with_the_last_port(region):
    lease = region.lease_of(HOST, asked(101))
    region.work()
    segments.plug(region, 101, 'mine')
    region.delete(lease)
    region.work()
    seen = region.see(lease)
    assert seen.status == 'DELETING'
    assert seen.status_reason.startswith('port mine')
    region.cloud.project_ports.clear()
    region.forward(until=2)
    assert there(region) == {}
    with pytest.raises(exception.NotFound):
        region.see(lease)


def test_a_port_that_neutron_does_not_delete_is_waited_for(region):
    lease = region.lease_of(HOST, asked(101))
    region.work()
    let_in(region, lease, 'server')
    segments.plug(region, 101, 'trunk', 'lessee', 'compute:nova', 'server')
    region.cloud.stuck_ports.add('trunk')
    region.forward(until=61)
    seen = region.see(lease)
    assert seen.status_reason == ('port trunk of a server can not be deleted')
    assert 'it is needed' in seen.status_detail
    region.cloud.stuck_ports.clear()
    region.forward(until=62)
    assert region.status(lease) == 'TERMINATED'


def test_a_network_with_other_tags_and_name_is_deleted_all_the_same(region):
    lease = region.lease_of(asked())
    region.work()
    [made] = region.cloud.segment_networks.values()
    region.cloud.segment_networks[made.id] = dataclasses.replace(
        made, words=frozenset({'mine'}), name='mine', is_tagged=False
    )
    region.look()
    assert not region.see(lease).reservations[0].resources_changed
    region.forward(until=61)
    assert region.status(lease) == 'TERMINATED'
    assert there(region) == {}


def test_a_lease_that_never_began_takes_nothing_from_another(region):
    region.lease_of(asked(101), end=30)
    region.work()
    later = region.lease_of(asked(101), start=30, end=60)
    region.delete(later)
    region.work()
    assert there(region) == {101: 'lessee'}


def test_the_end_leaves_and_waits_for_what_is_somebody_elses(region):
    lease = region.lease_of(asked(102))
    region.work()
    region.cloud.segment_networks.clear()
    stranger = segments.take(region, 102)
    region.forward(until=61)
    seen = region.see(lease)
    assert seen.status_reason.startswith(
        'somebody else has the VLAN 102 of physnet1'
    )
    assert 'other' not in seen.status_reason
    del region.cloud.segment_networks[stranger]
    region.forward(until=63)
    assert region.status(lease) == 'TERMINATED'


def test_start_and_end_wait_while_neutron_is_silent(region):
    lease = region.lease_of(HOST, asked())
    alone = region.lease()
    region.cloud.neutron_is_silent = True
    region.lease_of(asked(), start=30)
    region.work()
    assert region.status(lease) == 'STARTING'
    assert region.status(alone) == 'ACTIVE'
    region.cloud.neutron_is_silent = False
    region.forward(until=1)
    assert region.status(lease) == 'ACTIVE'
    region.cloud.neutron_is_silent = True
    region.forward(until=61)
    assert region.status(lease) == 'TERMINATING'
    assert region.status(alone) == 'TERMINATED'
    region.cloud.neutron_is_silent = False
    region.forward(until=62)
    assert region.status(lease) == 'TERMINATED'


def test_a_request_changes_until_its_network_is_there(region):
    lease = region.lease_of(asked(101), start=30)
    region.change(lease, network_properties='["==", "$segment_id", "102"]')
    region.forward(until=30)
    assert there(region) == {102: 'lessee'}
    region.change(lease, network_name='lab')
    with pytest.raises(exception.InvalidState, match='in Neutron'):
        region.change(lease, network_name='another')


def test_another_vlan_replaces_one_that_somebody_has_taken(region):
    named, free = region.lease_of(asked(102)), region.lease_of(asked())
    region.work()
    [vlan] = held(region, free)
    region.cloud.segment_networks.clear()
    for taken in 102, vlan:
        segments.take(region, taken)
    region.look()
    # Nothing replaces the VLAN that was asked for by its number.
    assert region.see(named).degraded
    assert region.see(free).reservations[0].resources_changed
    [other] = held(region, free) - {vlan}
    assert there(region) == {102: 'other', vlan: 'other', other: 'lessee'}


def test_a_network_that_is_replaced_stays_until_its_ports_have_left(
    make_region,
):
    region = make_region(types=segments.TYPES, monitors=segments.MONITORS)
    segments.enrol(region, 101)
    segments.enrol(region, 7, physical_network='physnet2')
    lease = region.lease_of(
        asked(resource_properties='{"physical_network": "physnet1"}')
    )
    region.change(lease, resource_properties='')
    assert held(region, lease) == {101}
    region.work()
    segments.plug(region, 101, 'port')
    region.cloud.unreached.add('physnet1')
    region.look()
    assert there(region) == {101: 'lessee', 7: 'lessee'}
    seen = region.see(lease)
    assert seen.reservations[0].resources_changed
    shown = region.lease_lists.usage(seen, seen.reservations[0])['networks']
    assert {each['segment_id'] for each in shown} == {101, 7}
    region.cloud.project_ports.clear()
    region.look()
    assert there(region) == {7: 'lessee'}


def test_a_physical_network_that_is_lost_is_told_and_nothing_moves(region):
    """When all agents are silent, the message bus has more likely failed."""
    lease = region.lease_of(asked())
    region.work()
    before = there(region)
    region.cloud.unreached.add('physnet1')
    region.look()
    assert region.see(lease).degraded
    assert there(region) == before
    region.cloud.unreached.clear()
    region.look()
    assert not region.see(lease).degraded
    assert there(region) == before


@pytest.mark.parametrize(
    ('vlan', 'error', 'said'),
    [
        (0, exception.InvalidInput, 'from 1 to 4094'),
        (4095, exception.InvalidInput, 'from 1 to 4094'),
        (110, exception.InvalidInput, 'network segment range'),
        (105, exception.InvalidState, 'of Neutron has it'),
        (101, exception.ResourceExists, 'already'),
    ],
)
def test_a_vlan_that_others_may_get_is_not_enrolled(region, vlan, error, said):
    region.cloud.vlan_ranges = {'physnet1': [range(110, 200)]}
    segments.take(region, 105)
    with pytest.raises(error, match=said):
        segments.enrol(region, vlan)
    # Neutron does not always tell its ranges.
    region.cloud.vlan_ranges = None
    segments.enrol(region, 150)


def test_a_segment_is_removed_when_no_lease_has_it(region):
    lease = region.lease_of(asked(101))
    places = region.services.places
    found = places.find(segment.NETWORK)
    vlans = [each.properties['segment_id'] for each in found]
    assert vlans == ['101', '102', '103']
    with pytest.raises(exception.ResourceInUse, match=lease.id):
        places.remove(segment.NETWORK, found[0].resource.uuid)
    places.remove(segment.NETWORK, found[1].resource.uuid)
    with pytest.raises(exception.NotFound):
        places.remove(segment.NETWORK, found[1].resource.uuid)


def test_no_segment_is_added_without_asking_neutron(region):
    with pytest.raises(exception.InvalidInput, match=r'\.\.\./networks'):
        region.services.resources.add(
            'virtual:network', '110@physnet1', region.now
        )


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
    region.lease_of(HOST, asked(), start=5)
    for minute in 4, 5, 59, 62:
        region.forward(until=minute)
        assert problems(auditor, region) == []


def test_an_audit_brings_back_what_was_deleted_or_lost_its_tags(
    region, auditor
):
    lease = region.lease_of(asked(102))
    region.work()
    [made] = region.cloud.segment_networks.values()
    for changed in (
        {},
        {
            made.id: dataclasses.replace(
                made, is_tagged=False, words=frozenset()
            )
        },
    ):
        region.cloud.segment_networks = changed
        assert problems(auditor, region) == [
            f'Network on VLAN 102 of physnet1 of reservation '
            f'{lease.reservations[0].id} is not in Neutron, or without its '
            'tags'
        ]
        repair(auditor, region)
        assert there(region) == {102: 'lessee'}
        assert problems(auditor, region) == []


def test_an_audit_deletes_what_is_of_no_lease_and_has_no_ports(
    region, auditor
):
    region.lease_of(asked(102))
    region.work()
    [made] = region.cloud.segment_networks.values()
    region.forward(until=62)
    region.cloud.segment_networks[made.id] = made
    segments.plug(region, 102, 'port')
    [finding] = auditor.findings(region.now)
    assert 'is of no lease any more, and has ports' in finding.problem
    assert finding.problem.endswith(': port')
    assert finding.repair is None
    region.cloud.project_ports.clear()
    repair(auditor, region)
    assert there(region) == {}


def test_an_audit_names_what_others_have_or_may_get(region, auditor):
    stranger = segments.take(region, 102)
    [problem] = problems(auditor, region)
    assert f'network {stranger} of project other has it' in problem
    made = region.cloud.segment_networks[stranger]
    mark = ports.Mark('of another', 'another database')
    region.cloud.segment_networks[stranger] = dataclasses.replace(
        made, words=frozenset(mark.tags), is_tagged=True
    )
    [finding] = auditor.findings(region.now)
    assert 'of this database' in finding.problem
    assert finding.repair is None
    region.cloud.segment_networks.clear()
    region.cloud.vlan_ranges = {'physnet1': [range(103, 200)]}
    [problem] = problems(auditor, region)
    assert problem.startswith('VLAN 103 of physnet1 is in a network segment')
