# SPDX-License-Identifier: Apache-2.0
"""Stacks of Heat: requests for them, and the promises that these get.

Decision 0058: doc/source/decisions/0058-stacks
"""

import dataclasses
from typing import ClassVar

import pytest

from nova_reservations import exception
from nova_reservations import ports
from nova_reservations.objects import address as address_names
from nova_reservations.objects import pool as pool_names
from nova_reservations.testing import stacks
from nova_reservations.testing.stacks import address
from nova_reservations.testing.stacks import disk
from nova_reservations.testing.stacks import group
from nova_reservations.testing.stacks import server
from nova_reservations.testing.stacks import STACK
from nova_reservations.tests.functional.engine import stack_leases
from nova_reservations.tests.functional.engine.stack_leases import active
from nova_reservations.tests.functional.engine.stack_leases import ask
from nova_reservations.tests.functional.engine.stack_leases import parts
from nova_reservations.tests.functional.engine.stack_leases import refusal
from nova_reservations.tests.functional.engine.stack_leases import sent
from nova_reservations.tests.functional.engine.stack_leases import SERVERS
from nova_reservations.types import base
from nova_reservations.types.heat import stack_parts
from nova_reservations.types.heat.stack_templates import GROUP
from nova_reservations.types.neutron import fake_networks


@pytest.fixture
def region(make_region):
    return stack_leases.region_of(make_region)


class TestServers:
    def test_servers_are_promised_slots_of_their_flavors(self, region):
        lease = ask(region, start=10)
        assert parts(region, lease) == {
            'servers of id-big': 1,
            'servers of id-small': 2,
        }
        assert not region.cloud.stacks_made

    def test_servers_of_groups_are_counted(self, region):
        resources = {'all': group(3, server('small')), 'one': server('small')}
        lease = ask(region, resources, start=10)
        assert parts(region, lease) == {'servers of id-small': 4}

    def test_nothing_is_promised_where_one_has_no_room(self, region):
        with pytest.raises(exception.NotEnoughResources):
            ask(region, {'all': group(100, server('big'))})

    def test_a_server_whose_flavor_is_not_known_is_refused(self, region):
        late = {'get_attr': ['other', 'flavor']}
        assert 'flavor of one is not known' in refusal(
            region, {'one': server(late)}
        )
        assert 'Flavor huge' in refusal(region, {'one': server('huge')})

    def test_a_server_that_is_there_already_is_not_counted(self, region):
        there = {**server('big'), 'external_id': 'there'}
        lease = ask(region, {'one': server(), 'there': there}, start=10)
        assert parts(region, lease) == {'servers of id-small': 1}
        assert 'nothing to reserve' in refusal(region, {'there': there})

    def test_a_server_for_which_nova_would_make_a_volume_is_refused(
        self, region
    ):
        root = [{'image': 'an image', 'volume_size': 10}]
        resources = {'one': server(block_device_mapping_v2=root)}
        assert 'make a volume for one' in refusal(region, resources)
        stacks.switch_on(region, STACK, 'flavor:instance')
        ask(region, resources)


class TestVolumes:
    RESOURCES: ClassVar = {
        'one': server(),
        'a': disk(10),
        'b': disk(10, name='b'),
        'c': disk(20, volume_type='slow'),
    }

    def test_volumes_are_promised_by_size_and_type(self, region):
        lease = ask(region, self.RESOURCES, start=10)
        assert parts(region, lease) == {
            'servers of id-small': 1,
            'volumes of 10 GiB': 2,
            'volumes of 20 GiB slow': 1,
        }

    def test_heat_has_those_of_the_lease(self, region):
        active(region, self.RESOURCES)
        made = region.cloud.volumes.made
        sizes = {
            name: made[sent(region)[name]['external_id']].volume.size_gb
            for name in 'abc'
        }
        assert sizes == {'a': 10, 'b': 10, 'c': 20}
        assert len({sent(region)[name]['external_id'] for name in 'abc'}) == 3
        assert 'properties' not in sent(region)['a']

    def test_volumes_go_after_the_stack(self, region):
        lease = active(region, self.RESOURCES)
        region.forward(until=60)
        assert len(region.cloud.volumes.made) == 3
        region.cloud.stacks.finish()
        region.forward(until=61)
        assert region.status(lease) == 'TERMINATED'
        assert not region.cloud.volumes.made

    def test_a_stack_of_which_a_volume_is_gone_is_not_made(self, region):
        lease = ask(region, self.RESOURCES, start=10)
        whole, *parts = (
            base.Booking.looked_at(lease, item, (), region.now)
            for item in lease.reservations
        )
        booking = dataclasses.replace(
            whole, parts={each.reservation.part_name: each for each in parts}
        )
        with pytest.raises(exception.CloudRefused, match='is gone'):
            region.types[STACK].start(booking)
        assert not region.cloud.stacks_made

    @pytest.mark.parametrize(
        ('resource', 'match'),
        [
            (disk(10, image='an image'), 'disk has image'),
            (disk(None), 'disk has no size'),
            (disk({'get_attr': ['one', 'x']}), 'size of disk is not known'),
            (group(2, disk(10)), 'Group disk has a OS::Cinder::Volume'),
        ],
    )
    def test_a_volume_that_can_not_be_promised_is_refused(
        self, region, resource, match
    ):
        assert match in refusal(region, {'one': server(), 'disk': resource})

    def test_a_stack_with_some_can_only_be_deleted(self, region):
        assert 'suspend is not possible' in refusal(
            region, self.RESOURCES, end_action='suspend'
        )

    def test_volumes_that_are_not_leased_are_made_by_heat(self, region):
        stacks.switch_on(region, STACK, 'flavor:instance')
        lease = active(region, self.RESOURCES)
        assert parts(region, lease) == {'servers of id-small': 1}
        assert sent(region)['a'] == disk(10)


class TestAddresses:
    RESOURCES: ClassVar = {
        'one': server(),
        'x': address(port_id={'get_resource': 'port'}),
        'y': address(),
    }

    def test_heat_has_those_of_the_lease(self, region):
        lease = active(region, self.RESOURCES)
        name = f'addresses of {fake_networks.EXTERNAL}'
        assert parts(region, lease)[name] == 2
        assert {
            sent(region)[each]['external_id'] for each in 'xy'
        } == region.cloud.floating_ips.keys()

    def test_an_address_leads_to_its_port_all_the_same(self, region):
        active(region, self.RESOURCES)
        assert sent(region)['x-association'] == {
            'type': 'OS::Neutron::FloatingIPAssociation',
            'depends_on': [],
            'properties': {
                'floatingip_id': {'get_resource': 'x'},
                'port_id': {'get_resource': 'port'},
            },
        }
        assert 'y-association' not in sent(region)

    def test_addresses_are_gone_at_the_end(self, region):
        active(region, self.RESOURCES)
        region.forward(until=60)
        region.cloud.stacks.finish()
        region.forward(until=61)
        assert not region.cloud.floating_ips

    def test_an_address_that_can_not_be_promised_is_refused(self, region):
        named = {'one': server(), 'x': address(dns_name='x')}
        assert 'x has dns_name' in refusal(region, named)
        unknown = {'one': server(), 'x': address(floating_network='other')}
        assert 'Failed to find network' in refusal(region, unknown)

    def test_an_old_version_of_heats_language_has_none(self, region):
        text = stacks.template(
            self.RESOURCES, heat_template_version='2015-04-30'
        )
        with pytest.raises(exception.InvalidInput, match='2016-10-14'):
            region.lease_of((STACK, {'template': text}))


class TestRequest:
    def test_a_template_that_heat_refuses_is_refused_in_its_words(
        self, region
    ):
        text = stacks.template(SERVERS, heat_template_version='unknown')
        with pytest.raises(exception.InvalidInput, match='is not known'):
            region.lease_of((STACK, {'template': text}))

    def test_a_project_without_a_token_is_told(self, region):
        region.cloud.without_role.add('lessee')
        assert 'ask the operator' in refusal(region, SERVERS)

    @pytest.mark.parametrize('role', ['admin', 'Admin', 'manager', 'service'])
    def test_nobody_gets_more_than_a_member_may(self, region, role):
        region.cloud.roles = ['member', role]
        assert f'by role {role}' in refusal(region, SERVERS)

    @pytest.mark.parametrize('service', ['workflow', 'workflowv2'])
    def test_nobody_gets_a_token_of_ours_by_a_workflow(self, region, service):
        region.cloud.catalog.append(service)
        assert 'this cloud has Mistral' in refusal(region, SERVERS)

    @pytest.mark.parametrize('kind', ['OS::Nova::KeyPair', GROUP])
    def test_types_are_looked_at_by_what_an_operator_has_them_mean(
        self, region, kind
    ):
        region.cloud.stacks.preview = lambda *_: [
            [ports.StackResource('key', kind, {}, 'one')]
        ]
        assert f'{kind} of resource key' in refusal(region, SERVERS)

    def test_stacks_have_what_their_own_templates_take(self, region):
        lease = region.lease_of(
            stacks.asked({'one': server('small'), 'two': server('small')}),
            (
                stack_parts.SLOTS,
                {'flavor_id': 'id-big', 'amount': 1, 'affinity': None},
            ),
            stacks.asked({'one': server('big')}),
            start=10,
        )
        first, alone, second, *parts = lease.reservations
        assert alone.params['flavor_id'] == 'id-big'
        assert {
            (item.part_of, item.part_name, item.params['amount'])
            for item in parts
        } == {
            (first.id, 'servers of id-small', 2),
            (second.id, 'servers of id-big', 1),
        }

    def test_heat_is_not_asked_for_more_than_a_lease_can_have(self, region):
        region.cloud.heat_is_silent = True
        one = stacks.asked({'one': server()})
        with pytest.raises(exception.InvalidInput, match='has 66 at least'):
            region.lease_of(*[one] * 33)

    def test_a_condition_that_only_the_stack_will_know_is_refused(
        self, region
    ):
        name = {'equals': [{'get_param': 'OS::stack_name'}, 'mine']}
        text = stacks.template(SERVERS, conditions={'mine': name})
        with pytest.raises(exception.InvalidInput, match='condition mine'):
            region.lease_of((STACK, {'template': text}))

    def test_another_template_changes_what_is_promised(self, region):
        lease = ask(region, start=20)
        region.change(lease, template=stacks.template({'one': server('big')}))
        assert parts(region, lease) == {'servers of id-big': 1}

    def test_a_stack_that_is_there_keeps_its_template(self, region):
        lease = active(region)
        with pytest.raises(exception.InvalidState, match='its stack is there'):
            region.change(
                lease, template=stacks.template({'one': server('small')})
            )
        region.change(lease, end_action='keep')

    def test_actions_that_servers_can_not_do_at_the_end_are_not_offered(
        self, region
    ):
        region.opts.set_override(
            'allowed_end_actions', ['shelve'], 'reservations'
        )
        lease = ask(region, start=10)
        assert region.see(lease).reservations[0].params['end_action'] == (
            'suspend'
        )
        assert 'choose one of: suspend' in refusal(
            region, SERVERS, end_action='delete'
        )


def test_a_lease_of_all_is_all_or_nothing(region):
    everything = {
        **SERVERS,
        **TestVolumes.RESOURCES,
        **TestAddresses.RESOURCES,
    }
    lease = active(region, everything)
    assert {item.resource_type for item in lease.reservations} == {
        STACK,
        'flavor:instance',
        pool_names.VOLUME,
        address_names.FLOATING_IP,
    }
    with pytest.raises(exception.NotEnoughResources):
        ask(region, {'one': server(), 'x': address()})
