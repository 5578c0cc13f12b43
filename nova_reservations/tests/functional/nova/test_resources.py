# SPDX-License-Identifier: Apache-2.0
"""Both halves of resource plugins, on computes and in nova-scheduler, on a
real Nova.
"""

import pathlib
import sys
from unittest import mock

import fixtures
from stevedore import extension

from nova_reservations.compute import cu
from nova_reservations.scheduler.consumers import host_states
from nova_reservations.tests.examples import installed
from nova_reservations.tests.examples import power
from nova_reservations.tests.functional.nova import test_consumers
from nova_reservations.tests.functional.nova import tracking


class BothHalvesTestCase(
    test_consumers.ConsumersTestCase, tracking.TrackingTestCase
):
    def used(self, plugin):
        """Return host -> how much the plugin counts as used."""
        return {
            host: self.figures(self.node(host), plugin)['used']
            for host in self.hosts
        }


class ComputeUnitsTest(BothHalvesTestCase):
    """Hosts of 8, 4 and 3 units, which all have enough CPUs for any test."""

    compute_resources = consumers = ('cu',)
    hosts = ('host1', 'host2', 'host3')
    capacity = {'host1': 8, 'host2': 4, 'host3': 3}  # noqa: RUF012
    full = {'host1': 8, 'host2': 4, 'host3': 0}  # noqa: RUF012

    def _install(self, directory):
        super()._install(directory)
        self.enterContext(
            mock.patch.object(
                cu.ComputeUnits,
                'capacity',
                lambda _, host: self.capacity[host.name],
            )
        )

    def test_servers_go_by_units_not_by_cpus(self):
        flavor = self.flavor(cu='4')
        server, *_ = [self.boot(flavor_id=flavor) for _ in range(3)]
        self.assertEqual(self.full, self.used('cu'))
        self.assertIn('No valid host', self.why_not(flavor_id=flavor))
        self._delete_server(server)
        self.boot(flavor_id=flavor)
        for host in self.hosts:
            usages = self._get_provider_usages(
                self._get_provider_uuid_by_host(host)
            )
            self.assertEqual(0, usages['VCPU'])

    def test_several_at_once_fill_the_hosts_exactly(self):
        self.post(count=3, name='three', flavor_id=self.flavor(cu='4'))
        self.assertEqual({'host1': 2, 'host2': 1}, self.where('three'))
        self.assertEqual(self.full, self.used('cu'))

    def test_a_request_for_one_too_many_takes_nothing(self):
        self.post(count=4, name='four', flavor_id=self.flavor(cu='4'))
        for server in self.api.get_servers(search_opts={'name': 'four'}):
            self._wait_for_state_change(server, 'ERROR')
        self.assertEqual({0}, set(self.used('cu').values()))

    def test_a_host_that_filled_up_meanwhile_sends_it_to_the_next(self):
        # Without this call, claims look like those of another scheduler.
        self.enterContext(mock.patch.object(host_states._consumers, 'consume'))
        self.post(count=3, name='three', flavor_id=self.flavor(cu='3'))
        self.assertEqual({'host1': 2, 'host2': 1}, self.where('three'))
        self.assertEqual({'host1': 6, 'host2': 3, 'host3': 0}, self.used('cu'))

    def test_a_resize_needs_room_for_the_new_flavor(self):
        server = self.boot(flavor_id=self.flavor(cu='7'))
        self.assertEqual('host1', self.host_of(server))
        server = self._resize_server(server, self.flavor(cu='4'))
        self.assertEqual('host2', self.host_of(server))
        self._confirm_resize(server)
        self.assertEqual({'host1': 0, 'host2': 4, 'host3': 0}, self.used('cu'))


class PowerTest(BothHalvesTestCase):
    """The example of the guide, installed as it is printed there."""

    compute_resources = consumers = ('power',)

    def _install(self, directory):
        super()._install(directory)
        site = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        installed.leave(pathlib.Path(power.__file__).parent, site)
        self.useFixture(
            fixtures.MonkeyPatch('sys.path', [*sys.path, str(site)])
        )
        # stevedore would use the entry points that it has read before.
        self.enterContext(
            mock.patch.dict(
                extension.ExtensionManager.ENTRY_POINT_CACHE, clear=True
            )
        )

    def test_a_host_without_a_limit_says_so(self):
        self.assertEqual(
            '[power] limit is not set', self.plugins('host1').off['power']
        )
        self.assertIn(
            'No valid host', self.why_not(flavor_id=self.flavor(power='1'))
        )
        self.boot()

    def test_watts_are_counted_by_both_halves(self):
        self.flags(limit=100, group='power')
        self._run_periodics()
        self.post(count=3, name='three', flavor_id=self.flavor(power='50'))
        self.assertEqual({1, 2}, set(self.where('three').values()))
        self.assertEqual([50, 100], sorted(self.used('power').values()))
        # A server that asks for no watts draws 5 for its CPU.
        self.boot(flavor_id=self.flavor())
        self.assertEqual([55, 100], sorted(self.used('power').values()))
        self.assertIn(
            'No valid host', self.why_not(flavor_id=self.flavor(power='46'))
        )
