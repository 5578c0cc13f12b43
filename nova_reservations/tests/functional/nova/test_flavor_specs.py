# SPDX-License-Identifier: Apache-2.0
"""Slots of flavors whose extra specs Nova's filters read, on a whole Nova with
both of these filters."""

import nova.conf
import pytest

from nova_reservations import exception
from nova_reservations.tests.functional.nova import test_instances

CONF = nova.conf.CONF


FOR_CLIENTS = 'aggregate_instance_extra_specs:reservation'
"""The key by which clients of Blazar find flavors of reservations."""


class FilteredTestCase(test_instances.InstancesTestCase):
    def _install(self, directory) -> None:
        super()._install(directory)
        self.flags(
            enabled_filters=[
                *CONF.filter_scheduler.enabled_filters,
                'AggregateInstanceExtraSpecsFilter',
            ],
            group='filter_scheduler',
        )


class TestFlavorsOfClients(FilteredTestCase):
    def setUp(self):
        super().setUp()
        self.trust()
        self.enrol('host1')

    def stored(self, server) -> dict[str, str]:
        return self.api.get_server(server['id'])['flavor']['extra_specs']

    def test_a_client_finds_the_flavor_and_servers_go_where_slots_are(self):
        lease = self.slots(3)
        key = self.id_of(lease)
        found = self.admin_api.api_get(f'/flavors/{key}/os-extra_specs')
        assert found.body['extra_specs'][FOR_CLIENTS] == key
        server = self.boot_in(lease)
        assert self.host_of(server) == 'host1'
        assert self.stored(server)[FOR_CLIENTS] == key
        shelved = self.boot_in(lease)
        self._shelve_server(shelved)
        self._unshelve_server(shelved)
        assert self.host_of(shelved) == 'host1'
        resized = self.boot()
        self._resize_server(resized, key)
        self._confirm_resize(resized)
        assert self.host_of(resized) == 'host1'

    def test_a_server_that_outlives_its_lease_may_go_anywhere(self):
        self._create_flavor(id='plain')
        lease = self.slots(1, end_action='shelve')
        server = self.boot_in(lease)
        self.end_completely(lease)
        assert FOR_CLIENTS not in self.stored(server)
        self._unshelve_server(server)
        assert self.host_of(server) != 'host1'
        self._reboot_server(server, hard=True)
        self._migrate_server(server, api=self.admin_api)
        self._confirm_resize(server)
        self._resize_server(server, 'plain')
        self._revert_resize(server)
        assert self.host_of(server) != 'host1'


class TestExtraSpecs(FilteredTestCase):
    def setUp(self):
        super().setUp()
        self.enrol('host1', 'host2')
        for host, disk in (('host1', 'false'), ('host2', 'true')):
            aggregate = self._create_aggregate(host)
            self.admin_api.add_host_to_aggregate(aggregate, host)
            self.admin_api.api_post(
                f'/os-aggregates/{aggregate}/action',
                {'set_metadata': {'metadata': {'ssd': disk}}},
            )
        self.services.hosts.refresh(self.now)

    def flavor(self, **specs: str) -> str:
        return self._create_flavor(
            vcpu=1, memory_mb=512, disk=1, ephemeral=0, extra_spec=specs
        )

    def test_servers_are_built_in_all_slots(self):
        for specs, host in (
            ({'aggregate_instance_extra_specs:ssd': 'true'}, 'host2'),
            ({'ssd': '<or> false <or> no'}, 'host1'),
        ):
            lease = self.slots(2, flavor_id=self.flavor(**specs))
            assert self.host_of(self.boot_in(lease)) == host
            assert self.inventories(lease) == {host: 2}
        specs = {'capabilities:cpu_info:features': '<all-in> pge clflush'}
        lease = self.slots(1, flavor_id=self.flavor(**specs))
        self.boot_in(lease)

    def test_specs_that_no_host_has_are_refused(self):
        for specs in (
            {'aggregate_instance_extra_specs:ssd': 'no'},
            {'capabilities:cpu_info:features': '<in> avx512f'},
            {'capabilities:hypervisor_type': 'QEMU'},
            {'colour': 'red'},
        ):
            with pytest.raises(exception.NotEnoughResources):
                self.slots(1, flavor_id=self.flavor(**specs))

    def test_specs_that_change_by_the_minute_are_refused(self):
        specs = {'capabilities:num_instances': '<= 5'}
        with pytest.raises(exception.InvalidInput, match='num_instances=<= 5'):
            self.slots(1, flavor_id=self.flavor(**specs))
