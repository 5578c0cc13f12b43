# SPDX-License-Identifier: Apache-2.0
"""Reservations that are shared, on a whole Nova. Servers of other projects
enter by the reservation's id, and leave at the end."""

import datetime

from nova_reservations import objects
from nova_reservations.cloud.placement import placement
from nova_reservations.tests.functional.nova import base
from nova_reservations.tests.functional.nova import test_instances


class SharingTest(test_instances.InstancesTestCase):
    def share(self, lease) -> None:
        self.services.sharing.add(
            lease.id, self.id_of(lease), base.OTHERS, self.now
        )
        self.work()

    def unshare(self, lease) -> None:
        self.services.sharing.remove(
            lease.id, self.id_of(lease), base.OTHERS, self.now
        )
        self.work()

    def end(self, lease) -> None:
        """Let the lease end, and its servers leave."""
        self.now += datetime.timedelta(hours=1)

        def look() -> None:
            self.now += datetime.timedelta(seconds=60)
            self.work()
            seen = self.services.leases.get(lease.id)
            self.assertEqual('TERMINATED', seen.status, seen.status_reason)

        self._wait_for_assert(look, max_retries=60)

    def test_a_server_lands_by_the_hint_and_leaves_at_the_end(self):
        self.enrol('host1')
        lease = self.lease()
        theirs = {'api': self.others_api}
        self.assertEqual(404, self.status_of_theirs(lease))
        self.share(lease)
        named = self.boot(lease, **theirs)
        own = self.boot(lease)
        self.assertEqual('host1', self.host_of(named))
        # A server of another project that gives no hint does not use the
        # reservation.
        unnamed = self.boot(**theirs)
        self.assertNotEqual('host1', self.host_of(unnamed))
        self.unshare(lease)
        self.assertEqual(404, self.status_of_theirs(lease))
        # Servers that are there stay after the end of the share.
        self.assertEqual('host1', self.host_of(named))
        self.end(lease)
        for server in named, own:
            self._wait_until_deleted(server)
        self.admin_api.get_server(unnamed['id'])

    def test_a_server_takes_a_slot_by_the_flavor(self):
        self.enrol('host1')
        lease = self.slots(2, consume='open')
        theirs = {'api': self.others_api}
        flavor = f'/flavors/{self.id_of(lease)}'
        refused = {'check_response_status': [404]}
        self.others_api.api_get(flavor, **refused)
        self.share(lease)
        self.others_api.api_get(flavor, check_response_status=[200])
        # The reservation is open only to servers of its own project.
        self.assertNotEqual('host1', self.host_of(self.boot(**theirs)))
        server = self.boot_in(lease, **theirs)
        self.assertEqual('host1', self.host_of(server))
        usage = self.services.lease_lists.usage(lease, lease.reservations[0])
        self.assertEqual({'used': 1, 'servers': []}, usage)
        self.boot()
        # The other project's server has taken the other slot.
        self.assertNotEqual('host1', self.host_of(self.boot()))
        self.unshare(lease)
        self.others_api.api_get(flavor, **refused)
        self.end(lease)
        self._wait_until_deleted(server)

    def test_placement_is_asked_once_more_with_however_many_sharers(self):
        self.enrol('host1')
        lease = self.slots(4, consume='open')
        asked = self.questions_about_slots()
        self.boot()
        alone = len(asked)
        for number in range(3):
            self.services.sharing.add(
                lease.id, self.id_of(lease), f'class-{number}', self.now
            )
        self.work()
        asked.clear()
        self.boot()
        self.assertEqual(alone + 1, len(asked))
        self.boot_in(lease)
        self.boot()
        asked.clear()
        # One question tells that the project's own servers use all open slots.
        self.assertNotEqual('host1', self.host_of(self.boot()))
        self.assertEqual(1, len(asked))

    def questions_about_slots(self) -> list[str]:
        """Return a list that collects the URLs by which placement is asked for
        free slots, before a request is sent to a reservation."""
        asked: list[str] = []
        request = placement.request

        def counted(method, url, *args, **kwargs):
            is_of_slots = url.startswith('/allocation_candidates?resources=')
            if url.startswith('/usages?') or is_of_slots:
                asked.append(url)
            return request(method, url, *args, **kwargs)

        self.stub_out(
            'nova_reservations.cloud.placement.placement.request', counted
        )
        return asked

    def test_a_server_of_a_former_sharer_is_moved_within_the_lease(self):
        self.enrol('host1', 'host2')
        lease = self.lease(2)
        self.share(lease)
        server = self.boot(lease, api=self.others_api)
        before = self.host_of(server)
        self.unshare(lease)
        self.admin_api.post_server_action(server['id'], {'migrate': None})
        self._wait_for_state_change(server, 'VERIFY_RESIZE')
        self.assertEqual(
            self.hosts_of(lease) - {before}, {self.host_of(server)}
        )

    def status_of_theirs(self, lease: objects.Lease) -> int:
        return self.status_of_refusal(
            lambda: self.post(lease, api=self.others_api)
        )
