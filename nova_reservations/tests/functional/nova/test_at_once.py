# SPDX-License-Identifier: Apache-2.0
"""The flavor and the group of a lease of slots can be used at once, on a whole
Nova.

Decision 0065: doc/source/decisions/0065-usable-when-answered
"""

import contextlib
import datetime
import pathlib
import threading

from nova import exception as nova_exception

from nova_reservations import objects
from nova_reservations.tests.functional.nova import test_instances


class TestAtOnce(test_instances.InstancesTestCase):
    def _install(self, directory: pathlib.Path) -> None:
        super()._install(directory)
        self.flags(api_threads=8, group='reservations')

    def setUp(self) -> None:
        super().setUp()
        self.enrol('host1', 'host2')
        # Due periodic tasks run now: they have nothing to do with the lease.
        self.work()

    def post_lease(self, start='now', **asked):
        """Return a reservation of slots as the answer to its request shows
        it."""
        answer = self.api.api_post(
            '/os-reservations/v1/leases',
            {
                'name': 'mine',
                'start_date': start,
                'duration': '1d',
                'reservations': [
                    {
                        'resource_type': 'virtual:instance',
                        **test_instances.SLOT,
                        'amount': 2,
                        'affinity': False,
                        'resource_properties': '',
                        **asked,
                    }
                ],
            },
            check_response_status=[201],
        )
        [reservation] = answer.body['lease']['reservations']
        return reservation

    def in_minutes(self, minutes):
        time = self.now + datetime.timedelta(minutes=minutes)
        return time.strftime('%Y-%m-%d %H:%M')

    def flavors(self, api):
        found = api.api_get('/flavors').body['flavors']
        return {flavor['id'] for flavor in found}

    def groups(self, api):
        found = api.api_get('/os-server-groups').body['server_groups']
        return {group['id'] for group in found}

    @contextlib.contextmanager
    def working(self):
        """Let a worker work meanwhile, in a thread of its own."""
        worker = threading.Thread(target=self.work)
        worker.start()
        try:
            yield
        finally:
            worker.join()

    def test_the_answer_names_a_flavor_and_a_group_that_are_there(self):
        for start in ('now', self.in_minutes(9)):
            reservation = self.post_lease(start)
            flavor = reservation['flavor_id']
            group = reservation['server_group_id']
            self.assertIn(flavor, self.flavors(self.api))
            self.assertNotIn(flavor, self.flavors(self.others_api))
            self.assertIn(group, self.groups(self.api))
            self.assertNotIn(group, self.groups(self.others_api))
            self.assertIn(objects.slot_class(flavor), self.classes())

    def test_a_server_can_be_asked_for_in_the_next_request(self):
        reservation = self.post_lease()
        with self.working():
            server = self.post(flavor_id=reservation['flavor_id'])
        self._wait_for_state_change(server, 'ACTIVE', max_retries=60)
        self.assertIn(self.host_of(server), {'host1', 'host2'})

    def test_a_server_that_names_the_group_too_can_be_asked_for_at_once(self):
        reservation = self.post_lease()
        body = self._build_server(
            networks='none', flavor_id=reservation['flavor_id']
        )
        hints = {'group': reservation['server_group_id']}
        with self.working():
            server = self.api.post_server(
                {'server': body, 'os:scheduler_hints': hints}
            )
        self._wait_for_state_change(server, 'ACTIVE', max_retries=60)

    def test_a_server_before_the_start_is_refused(self):
        reservation = self.post_lease(self.in_minutes(9))
        status = self.status_of_refusal(
            lambda: self.post(flavor_id=reservation['flavor_id'])
        )
        self.assertEqual(409, status)

    def test_flavor_and_group_of_a_lease_that_is_deleted_are_gone(self):
        reservation = self.post_lease()
        [lease] = self.api.api_get('/os-reservations/v1/leases').body['leases']
        self.api.api_delete(f'/os-reservations/v1/leases/{lease["id"]}')
        self.work()
        self.assertNotIn(reservation['flavor_id'], self.flavors(self.api))
        self.assertEqual(set(), self.groups(self.api))
        self.assertNotIn(
            objects.slot_class(reservation['flavor_id']), self.classes()
        )

    def test_a_lease_is_granted_whatever_nova_answers(self):
        def refuse(flavor):
            raise nova_exception.FlavorExists(name=flavor.name)

        self.stub_out('nova.objects.flavor.Flavor.create', refuse)
        reservation = self.post_lease()
        self.assertNotIn(reservation['flavor_id'], self.flavors(self.api))

    def test_a_lease_that_begins_later_has_none_yet(self):
        reservation = self.post_lease(self.in_minutes(60))
        self.assertNotIn(reservation['flavor_id'], self.flavors(self.api))
        self.assertEqual(set(), self.groups(self.api))
