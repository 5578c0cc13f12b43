# SPDX-License-Identifier: Apache-2.0
"""Servers that ask for no lease get one by default, on a Nova."""

import datetime

from nova_reservations.engine.booking import lease_requests
from nova_reservations.tests.functional.nova import base
from nova_reservations.tests.functional.nova import shelving


class DefaultTest(shelving.ShelvingTestCase):
    """Every server has a lease."""

    def _install(self, directory):
        super()._install(directory)
        self.flags(default_reservation=True, group='reservations')

    def test_a_server_that_asks_for_none_has_one_for_thirty_days(self):
        server = self.boot(name='forgotten')
        lease = self.until('ACTIVE')
        self.assertEqual('forgotten', lease.name)
        self.assertEqual(base.MINE, lease.project_id)
        self.assertEqual([server['id']], self.servers_of(lease))
        self.assertIs(False, lease.reservations[0].params['guaranteed'])
        self.assertEqual(
            datetime.timedelta(days=30), lease.end_date - lease.start_date
        )
        self.until_the_end()
        self.until('TERMINATED')
        self._wait_until_deleted(server)

    def test_an_owner_extends_a_default_lease_as_any_other(self):
        server = self.boot()
        lease = self.until('ACTIVE')
        self.services.leases.update(
            lease.id,
            lease_requests.LeaseChanges(
                end=lease.end_date + datetime.timedelta(days=300)
            ),
            self.now,
        )
        self.now = lease.end_date
        self.work()
        self.assertEqual('ACTIVE', self.status_of(server))

    def test_the_length_of_a_default_lease_is_the_operators(self):
        self.flags(
            reservation_length_days=1,
            reservation_length_hours=2,
            reservation_length_minutes=3,
            group='reservations',
        )
        self.boot()
        lease = self.only_lease()
        self.assertEqual(
            datetime.timedelta(days=1, hours=2, minutes=3),
            lease.end_date - lease.start_date,
        )

    def test_a_default_lease_may_begin_later(self):
        start = self.now + datetime.timedelta(hours=2)
        self.flags(
            reservation_start_date=f'{start:%Y-%m-%d %H:%M:%S}',
            group='reservations',
        )
        server = self.post()
        self.until_shelved(server)
        self.assertEqual(start, self.only_lease().start_date)
        self.until_the_start()
        self.until('ACTIVE')

    def test_a_date_that_is_past_is_now(self):
        self.flags(
            reservation_start_date='2020-01-01 00:00', group='reservations'
        )
        self.boot()
        self.assertEqual(self.now, self.only_lease().start_date)

    def test_other_hints_are_kept(self):
        other = self.boot()
        for key in (shelving.HINTS, 'OS-SCH-HNT:scheduler_hints'):
            server = self.api.post_server(
                {
                    'server': self._build_server(
                        networks='none', flavor_id='1'
                    ),
                    key: {'different_host': [other['id']]},
                }
            )
            self._wait_for_state_change(server, 'ACTIVE')
            self.assertNotEqual(self.host_of(other), self.host_of(server))
        self.assertEqual(3, len(self.leases()))

    def test_a_server_that_asks_for_a_lease_has_that_one(self):
        self.ask()
        lease = self.only_lease()
        self.assertEqual(
            datetime.timedelta(hours=1), lease.end_date - lease.start_date
        )

    def test_exempt_are_projects_and_flavors(self):
        self.flags(
            default_reservation_exempt_projects=[base.OTHERS],
            default_reservation_exempt_flavors=['2'],
            group='reservations',
        )
        self.post(api=self.others_api)
        self.post(flavor_id='2')
        self.assertEqual([], self.leases())
        self.post()
        self.assertEqual(base.MINE, self.only_lease().project_id)

    def test_servers_in_a_reservation_are_in_its_lease_already(self):
        self.enrol('host1')
        lease = self.lease()
        server = self.boot(lease)
        self.assertEqual('host1', self.host_of(server))
        self.assertEqual(lease.id, self.only_lease().id)

    def test_servers_on_volumes_and_several_at_once_have_one(self):
        self.api.post_server({'server': self.volume_backed()})
        self.post(count=3)
        sizes = sorted(len(self.servers_of(one)) for one in self.leases())
        self.assertEqual([1, 3], sizes)

    def test_a_server_that_nova_refuses_has_no_lease(self):
        for server in (
            {'name': 'no image'},
            self._build_server(networks='none', flavor_id='no such'),
            'no server',
        ):
            status = self.status_of_refusal(
                self.api.post_server, {'server': server}
            )
            self.assertEqual(400, status)
        self.assertEqual([], self.leases())

    def test_a_default_lease_is_no_matter_of_who_may_make_leases(self):
        self.policy.set_rules(
            {'reservations:leases:create': '!'},
            overwrite=False,
        )
        self.boot()
        self.until('ACTIVE')


class NoDefaultTest(shelving.ShelvingTestCase):
    def test_by_default_no_server_has_a_lease(self):
        self.boot()
        self.assertEqual([], self.leases())
