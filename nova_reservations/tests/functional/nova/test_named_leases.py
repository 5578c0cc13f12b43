# SPDX-License-Identifier: Apache-2.0
"""Servers that name a lease or a series, on a whole Nova: it knows only the
reservation, from scheduling to the last move."""

import datetime

from nova import context as nova_context
from nova import objects as nova_objects

from nova_reservations import objects
from nova_reservations.engine.booking import lease_requests
from nova_reservations.engine.leases import series
from nova_reservations.tests.functional.nova import base
from nova_reservations.tests.functional.nova import test_instances


class NamedLeasesTest(test_instances.InstancesTestCase):
    def hint_of(self, server) -> str:
        spec = nova_objects.RequestSpec.get_by_instance_uuid(
            nova_context.get_admin_context(), server['id']
        )
        return spec.get_scheduler_hint('reservation')

    def test_a_server_is_in_the_lease_of_the_name_and_moves_within_it(self):
        self.enrol('host1', 'host2')
        lease = self.lease(2)
        server = self.boot(hint=lease.name)
        before = self.host_of(server)
        self.assertIn(before, self.hosts_of(lease))
        self.assertEqual(self.id_of(lease), self.hint_of(server))
        self.admin_api.post_server_action(server['id'], {'migrate': None})
        self._wait_for_state_change(server, 'VERIFY_RESIZE')
        self.assertEqual(
            self.hosts_of(lease) - {before}, {self.host_of(server)}
        )

    def test_a_server_of_a_sharer_is_in_the_lease_of_the_series(self):
        self.enrol('host1')
        made = self.services.series.create(
            lease_requests.NewLease(
                name='course',
                project_id=base.MINE,
                user_id='user',
                start=self.now,
                end=self.now + datetime.timedelta(hours=1),
                before_end=None,
                reservations=(
                    lease_requests.NewReservation(
                        objects.HOST, {'min': 1, 'max': 1}
                    ),
                ),
            ),
            series.Repeat(datetime.timedelta(days=1), 2),
            self.now,
        ).leases
        self.work()
        hint = made[0].series_id
        theirs = {'hint': hint, 'api': self.others_api}
        self.assertEqual(
            404, self.status_of_refusal(lambda: self.post(**theirs))
        )
        self.services.sharing.add_all(made, [base.OTHERS], self.now)
        for asked in theirs, {'hint': hint}:
            server = self.boot(**asked)
            self.assertEqual('host1', self.host_of(server))
            self.assertEqual(self.id_of(made[0]), self.hint_of(server))

    def test_a_server_takes_a_slot_of_the_lease_of_the_name(self):
        self.enrol('host1')
        lease = self.slots(1)
        refused = self.status_of_refusal(lambda: self.post(hint=lease.name))
        self.assertEqual(400, refused)
        server = self.boot_in(lease, hint=lease.name)
        self.assertEqual('host1', self.host_of(server))
        usage = self.services.lease_lists.usage(lease, lease.reservations[0])
        self.assertEqual({'used': 1, 'servers': [server['id']]}, usage)
