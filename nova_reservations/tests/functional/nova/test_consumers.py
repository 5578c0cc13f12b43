# SPDX-License-Identifier: Apache-2.0
"""Servers go where the reports of computes say, on a real scheduler.

What the hosts report is written into Nova's database by hand: these tests
need no plugin on the computes.
"""

from collections import Counter
from typing import Any

import fixtures
from nova import context as nova_context
from nova import objects
import nova.conf

from nova_reservations.cmd import status
from nova_reservations.scheduler.consumers import base as consumers
from nova_reservations.scheduler.consumers import host_states
from nova_reservations.tests.functional.nova import base
from nova_reservations.tests.functional.nova import shared
from nova_reservations.tests.functional.nova import test_instances
from nova_reservations.tests.unit.scheduler import hosts

CONF = nova.conf.CONF
FILTER = 'nova_reservations.scheduler.resource_filter.ResourceFilter'
WEIGHERS = 'nova_reservations.scheduler.weighers'


class ConsumersTestCase(shared.SharedNova):
    """:cvar consumers: those that nova-scheduler is configured to use."""

    consumers: tuple[str, ...] = ('cu',)

    def _install(self, directory: Any) -> None:
        super()._install(directory)
        group = CONF.filter_scheduler
        self.flags(scheduler_consumers=list(self.consumers))
        self.flags(
            available_filters=[*group.available_filters, FILTER],
            enabled_filters=[*group.enabled_filters, 'ResourceFilter'],
            weight_classes=[
                f'{WEIGHERS}.ResourceWeigher',
                f'{WEIGHERS}.ReservedAggregatesWeigher',
            ],
            group='filter_scheduler',
        )

    def report(self, host: str, **figures: Any) -> None:
        """Have the host report these figures; the next audit overwrites
        them."""
        context = nova_context.get_admin_context()
        [cell] = [
            cell
            for cell in objects.CellMappingList.get_all(context)
            if not cell.is_cell0()
        ]
        with nova_context.target_cell(context, cell) as target:
            [node] = objects.ComputeNodeList.get_all_by_host(target, host)
            node.stats = {**node.stats, **hosts.reports(**figures)}
            node.save()

    def flavor(self, **extra_specs: str) -> str:
        """Return a flavor that asks for these amounts, and for no VCPU of
        Nova."""
        specs = {f'reservations:{k}': v for k, v in extra_specs.items()}
        return self._create_flavor(
            vcpu=1,
            memory_mb=128,
            disk=1,
            ephemeral=0,
            extra_spec={'resources:VCPU': '0', **specs},
        )

    def stub_out_survey(self, look: Any) -> None:
        self.useFixture(
            fixtures.MockPatchObject(host_states._consumers, 'survey', look)
        )

    def where(self, name: str) -> Counter[str]:
        """Return how many servers of one request are on each host."""
        servers = self.api.get_servers(search_opts={'name': name})
        return Counter(
            self.host_of(self._wait_for_state_change(server, 'ACTIVE'))
            for server in servers
        )


class ResourceTest(ConsumersTestCase):
    def test_servers_of_one_request_are_counted(self):
        for host, total in (('host1', 3), ('host2', 2), ('host3', 0.5)):
            self.report(host, cu={'total': total, 'used': 0})
        self.post(count=5, name='five', flavor_id=self.flavor(cu='1'))
        self.assertEqual({'host1': 3, 'host2': 2}, self.where('five'))

    def test_more_than_there_is_is_refused_together(self):
        self.report('host1', cu={'total': 3, 'used': 0})
        flavor = self.flavor(cu='1')
        self.post(count=4, name='four', flavor_id=flavor)
        for server in self.api.get_servers(search_opts={'name': 'four'}):
            self._wait_for_state_change(server, 'ERROR')
        self.boot(flavor_id=flavor)

    def test_a_host_that_reports_nothing_gets_none(self):
        self.report('host2', cu={'total': 4, 'used': 3.5})
        flavor = self.flavor(cu='0.5')
        self.assertEqual('host2', self.host_of(self.boot(flavor_id=flavor)))
        self.assertIn('No valid host', self.why_not(flavor_id=flavor))
        # A server that asks for no such resource can go anywhere.
        self.boot(host='host1')

    def test_the_freest_comes_first_and_forced_hosts_are_nobodys_matter(self):
        self.report('host1', cu={'total': 9, 'used': 8})
        self.report('host2', cu={'total': 9, 'used': 1})
        flavor = self.flavor(cu='1')
        self.assertEqual('host2', self.host_of(self.boot(flavor_id=flavor)))
        server = self.boot(flavor_id=flavor, az='nova:host3')
        self.assertEqual('host3', self.host_of(server))

    def test_hosts_that_lack_the_plugin_are_found_by_the_command(self):
        checks = status.Checks(CONF, self.services)
        self.report('host1', cu={'total': 9, 'used': 0})
        self.report('host2', cu={'total': 'nine', 'used': 0})
        result = checks.resources()
        self.assertEqual(status.Code.WARNING, result.code)
        self.assertEqual(
            [
                'Nothing is known of cu on host host2: What the host reports '
                'of cu is not read: total is no number',
                'Nothing is known of cu on host host3: it runs no plugins, '
                'or has not reported yet',
            ],
            sorted(result.details.splitlines()),
        )
        for host in ('host2', 'host3'):
            self.report(host, cu={'total': 9, 'used': 0})
        self.assertEqual(status.Code.SUCCESS, checks.resources().code)

    def test_the_api_takes_amounts_only(self):
        flavor = self.flavor()
        for name, value in (('cu', 'four'), ('CU', '4')):
            self.assertEqual(
                400,
                self.status_of_refusal(
                    self.admin_api.post_extra_spec,
                    flavor,
                    {'extra_specs': {f'reservations:{name}': value}},
                ),
            )
        self.admin_api.post_extra_spec(
            flavor, {'extra_specs': {'reservations:cu': '4'}}
        )


class NothingConfiguredTest(ConsumersTestCase):
    consumers = ()

    def test_nothing_is_loaded_and_nothing_held(self):
        self.report('host1', cu={'total': 9, 'used': 0})
        self.boot()
        self.assertFalse(host_states.consumers().running)

    def test_a_request_for_units_that_nobody_reads_passes_nowhere(self):
        self.report('host1', cu={'total': 9, 'used': 0})
        self.why_not(flavor_id=self.flavor(cu='1'))


class ReservedTest(ConsumersTestCase):
    consumers = ('nonsense', 'reserved_aggregates')

    def test_servers_of_a_lease_fill_its_hosts_one_after_the_other(self):
        self.assertEqual(
            ['reserved_aggregates'], [*host_states.consumers().running]
        )
        self.enrol(*self.hosts)
        lease = self.lease(3)
        servers = [self.boot(lease) for _ in range(3)]
        self.assertEqual(1, len(set(map(self.host_of, servers))))
        self.post(lease, count=3, name='three')
        self.assertEqual(1, len(self.where('three')))

    def test_spreading_is_a_matter_of_an_option(self):
        self.flags(
            reserved_aggregates_weight_multiplier=-1.0, group='reservations'
        )
        self.enrol(*self.hosts)
        lease = self.lease(3)
        servers = [self.boot(lease) for _ in range(3)]
        self.assertEqual(set(self.hosts), set(map(self.host_of, servers)))

    def test_a_host_state_tells_reservation_and_owner(self):
        self.enrol('host1')
        lease = self.lease()
        seen = []
        real = host_states._consumers.survey

        def look(hosts_of_run, *request):
            real(hosts_of_run, *request)
            seen.extend(
                (host.host, consumers.held(host, 'reserved_aggregates'))
                for host in hosts_of_run
            )

        self.stub_out_survey(look)
        self.boot()
        self.assertEqual({('host2', None), ('host3', None)}, set(seen))
        seen.clear()
        self.boot(lease)
        [(host, [share])] = [(name, [*each.values()]) for name, each in seen]
        self.assertEqual('host1', host)
        self.assertEqual(lease.reservations[0].id, share.reservation_id)
        self.assertEqual(base.MINE, share.owner)
        self.assertIsNone(share.slots_left)


class SlotsTest(ConsumersTestCase, test_instances.InstancesTestCase):
    consumers = ('reserved_aggregates',)
    hosts = ('host1', 'host2')

    def test_slots_fill_one_host_after_the_other(self):
        self.enrol(*self.hosts)
        lease = self.slots(4, affinity=None)
        first = self.host_of(self.boot_in(lease))
        slots = self.inventories(lease)
        while slots[first] > 1:
            self.assertEqual(first, self.host_of(self.boot_in(lease)))
            slots[first] -= 1
        for host, left in slots.items():
            for _ in range(left if host != first else 0):
                self.assertEqual(host, self.host_of(self.boot_in(lease)))
        self.assertIn('No valid host', self.refused_in(lease))

    def test_slots_left_are_on_the_host_state(self):
        self.enrol('host1')
        lease = self.slots(2, affinity=None)
        seen = []
        real = host_states._consumers.survey

        def look(hosts_of_run, *request):
            real(hosts_of_run, *request)
            seen.extend(
                share.slots_left
                for host in hosts_of_run
                for share in consumers.held(
                    host, 'reserved_aggregates'
                ).values()
            )

        self.stub_out_survey(look)
        for _ in range(2):
            self.boot_in(lease)
        self.assertEqual([2, 1], seen)
