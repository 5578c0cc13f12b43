# SPDX-License-Identifier: Apache-2.0
"""A server landed on a leased host when its build failed elsewhere.
nova-conductor took an alternate that had been enrolled meanwhile, and no
filter saw it. Issue 13, item 1.
"""

import threading

from nova import context as nova_context
from nova import objects as nova_objects
from nova.compute import manager
from nova.conductor import manager as conductor_manager
from nova.scheduler.client import report
from nova.virt import fake
from oslo_utils.fixture import uuidsentinel as uuids

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.engine.booking import lease_requests
from nova_reservations.tests.functional.nova import base
from nova_reservations.tests.functional.nova import conductor
from nova_reservations.tests.functional.nova import shared

OWNERS = {
    'spawn': fake.FakeDriver,
    '_prep_resize': manager.ComputeManager,
}
"""Method that fails -> the class that defines it."""


class AlternatesTest(shared.SharedNova):
    """:cvar guarded: whether nova-conductor checks its claims.

    :ivar failed: the host on which the method has failed, if it has.
    :ivar enrolled: the hosts that were enrolled while it failed.
    """

    guarded = True

    def _install(self, directory):
        super()._install(directory)
        self.flags(conductors_guarded=self.guarded, group='reservations')

    def setUp(self):
        super().setUp()
        self.useFixture(conductor.Conductor(self.guarded))
        self.failed = None
        self.enrolled = []

    def fail_once(self, method, enrolling):
        """Have the first call of a host's method fail, and enrol other hosts
        during that call."""
        owner = OWNERS[method]
        original = getattr(owner, method)

        def failing(this, *args, **kwargs):
            if self.failed is not None:
                return original(this, *args, **kwargs)
            self.failed = this._host if owner is fake.FakeDriver else this.host
            others = set(self.hosts) - {self.failed, *self.occupied}
            self.enrolled = sorted(others)[:enrolling]
            self.enrol(*self.enrolled)
            self.meanwhile(others)
            raise ValueError('it fails')

        self.stub_out(f'{owner.__module__}.{owner.__name__}.{method}', failing)

    occupied: tuple[str, ...] = ()

    def meanwhile(self, others):
        """Do something to the other hosts while the method that fails runs."""

    def held_of(self, host):
        """Return the allocations on a host."""
        uuid = self._get_provider_uuid_by_host(host)
        return self._get_allocations_by_provider_uuid(uuid)

    def assert_nobody_is_on_enrolled_hosts(self):
        self.assertTrue(self.enrolled)
        for host in self.enrolled:
            self.assertEqual({}, self.held_of(host))


class GuardedTest(AlternatesTest):
    def test_a_build_that_fails_takes_the_alternate_that_is_still_open(self):
        self.fail_once('spawn', enrolling=1)
        server = self.boot()
        self.assert_nobody_is_on_enrolled_hosts()
        self.assertNotIn(self.host_of(server), {self.failed, *self.enrolled})

    def test_a_build_that_fails_has_no_host_when_all_others_are_enrolled(self):
        self.fail_once('spawn', enrolling=2)
        self.assertIn('Exhausted all hosts', self.why_not())
        self.assert_nobody_is_on_enrolled_hosts()

    def test_a_migration_that_fails_leaves_its_server_what_it_had(self):
        server = self.boot()
        before = self.host_of(server)
        self.occupied = (before,)
        held = self.held_of(before)
        self.fail_once('_prep_resize', enrolling=1)
        self.admin_api.post_server_action(server['id'], {'migrate': None})
        self._wait_for_action_fail_completion(
            server, 'migrate', 'conductor_migrate_server'
        )
        self.assert_nobody_is_on_enrolled_hosts()
        self.assertEqual(held, self.held_of(before))
        self.assertEqual(before, self.host_of(server))

    def test_a_leased_server_takes_the_next_host_of_its_lease(self):
        self.enrol(*self.hosts)
        lease = self.lease(3)
        self.fail_once('spawn', enrolling=0)
        server = self.boot(lease)
        self.assertNotEqual(self.failed, self.host_of(server))

    def test_the_guard_asks_placement_alone(self):
        """The conductor of a cell reaches neither Nova's API database nor
        ours."""
        self.enrol('host1')
        spec = nova_objects.RequestSpec(
            scheduler_hints={},
            project_id=base.MINE,
            user_id='user',
            requested_destination=None,
        )
        providers = {
            host: self._get_provider_uuid_by_host(host)
            for host in ('host1', 'host2')
        }
        self.unplug_databases()
        client = report.report_client_singleton()
        stood = {
            host: conductor_manager.scheduler_utils.claim_resources(
                nova_context.get_admin_context(),
                client,
                spec_obj=spec,
                instance_uuid=uuids.server,
                alloc_req={
                    'allocations': {provider: {'resources': {'VCPU': 1}}}
                },
                allocation_request_version='1.36',
            )
            for host, provider in providers.items()
        }
        self.assertEqual({'host1': False, 'host2': True}, stood)
        self.assertEqual({}, self.held_of('host1'))

    def unplug_databases(self):
        for module in ('nova.db.api.api', 'nova.db.main.api'):
            self.stub_out(f'{module}.context_manager', None)
        self.services.database.dispose()
        self.stub_out('nova_reservations.db.api.Database.reader', None)


class UnguardedTest(AlternatesTest):
    guarded = False

    def test_a_host_that_an_alternate_may_take_is_nobodys_until_then(self):
        self.fail_once('spawn', enrolling=2)
        server = self.boot()
        taken = self.host_of(server)
        [free] = {*self.enrolled} - {taken}
        self.assertRaises(exception.NotEnoughResources, self.lease)

        self.services.hosts.enrolment.complete_all(self.now)
        shown = {
            host.facts.service_host: host
            for host in self.services.hosts.find(objects.HostQuery())
        }
        self.assertTrue(shown[free].reservable)
        self.assertFalse(shown[taken].reservable)
        self.assertIn(server['id'], shown[taken].status_reason)
        self.assertEqual({free}, self.hosts_of(self.lease()))

    def test_a_migration_is_waited_for_as_well(self):
        server = self.boot()
        self.occupied = (self.host_of(server),)
        self.fail_once('_prep_resize', enrolling=1)
        self._migrate_server(server)
        [taken] = self.enrolled
        self.assertEqual(taken, self.host_of(server))
        self.services.hosts.enrolment.complete_all(self.now)
        self.assertRaises(exception.NotEnoughResources, self.lease)


class GivenBackTest(AlternatesTest):
    """A lease gives hosts back while a server of the lease is still on its
    way."""

    guarded = False

    def setUp(self):
        super().setUp()
        self.enrol(*self.hosts)
        self.mine = self.lease(3)

    def meanwhile(self, others):
        self.services.leases.update(
            self.mine.id,
            lease_requests.LeaseChanges(
                reservations={
                    self.mine.reservations[0].id: {
                        'release_hosts': sorted(others)
                    }
                }
            ),
            self.now,
        )
        self.settle()
        self.assertRaises(exception.NotEnoughResources, self.lease)

    def settle(self):
        for _ in range(3):
            self.work()
            self.pass_time(seconds=5)
        self.work()

    def held(self):
        return {each.name for each in self.resources_of(self.mine)}

    def test_a_build_that_fails_takes_none_that_others_have(self):
        self.fail_once('spawn', enrolling=0)
        server = self.boot(self.mine)
        self.settle()
        taken = self.host_of(server)
        self.assertNotEqual(self.failed, taken)
        self.assertEqual({self.failed, taken}, self.held())
        [free] = {*self.hosts} - self.held()
        self.assertEqual(
            {free}, self.hosts_of(self.lease(project_id=base.OTHERS))
        )

    def test_a_migration_that_fails_takes_no_host_that_others_have(self):
        server = self.boot(self.mine)
        self.occupied = (self.host_of(server),)
        self.fail_once('_prep_resize', enrolling=0)
        self._migrate_server(server)
        self.settle()
        self.assertEqual({*self.hosts}, self.held())
        self.assertNotIn(self.host_of(server), {self.failed, *self.occupied})


class EndTest(AlternatesTest):
    """A lease ends and deletes a server that is about to be migrated. The host
    of the server deletes it slowly."""

    guarded = False

    def setUp(self):
        super().setUp()
        self.enrol(*self.hosts)
        self.mine = self.lease(3)
        self.deleting = threading.Event()
        self.addCleanup(self.deleting.set)
        delete = manager.ComputeManager.terminate_instance

        def slow(*args, **kwargs):
            self.deleting.wait(60)
            return delete(*args, **kwargs)

        self.stub_out(
            'nova.compute.manager.ComputeManager.terminate_instance', slow
        )

    def meanwhile(self, others):
        self.end(self.mine)
        for _ in range(3):
            self.pass_time(seconds=5)
            self.work()

    def test_an_end_keeps_hosts_that_the_migration_may_still_take(self):
        server = self.boot(self.mine)
        self.occupied = (self.host_of(server),)
        self.fail_once('_prep_resize', enrolling=0)
        self._migrate_server(server)
        [taken] = {*self.hosts} - {self.failed, *self.occupied}
        self.assertIn(server['id'], self.held_of(taken))
        self.assertIn(
            taken, {each.name for each in self.resources_of(self.mine)}
        )


class FirstClaimTest(shared.SharedNova):
    """nova-scheduler claims a host that was enrolled after the scheduler chose
    it."""

    def test_a_server_whose_host_is_enrolled_takes_the_next_host(self):
        claim = report.SchedulerReportClient.claim_resources
        enrolled = []

        def enrol_first(client, context, uuid, alloc_request, *args, **kwargs):
            if not enrolled:
                [provider] = alloc_request['allocations']
                enrolled.extend(self.enrol(provider))
            return claim(client, context, uuid, alloc_request, *args, **kwargs)

        self.enrol('host1')
        self.stub_out(
            'nova.scheduler.client.report.SchedulerReportClient'
            '.claim_resources',
            enrol_first,
        )
        server = self.boot()
        [host] = enrolled
        self.assertNotIn(
            self.host_of(server), {'host1', host.facts.service_host}
        )
        self.assertEqual(
            {}, self._get_allocations_by_provider_uuid(host.facts.uuid)
        )
