# SPDX-License-Identifier: Apache-2.0
"""The books of plugins equal Nova's own after each step of a server's life."""

from nova_reservations.tests.functional.nova import tracking


class LedgerTest(tracking.TrackingTestCase):
    def setUp(self):
        super().setUp()
        self.flavor, self.larger = self.api.get_flavors()[:2]

    def assert_books(self):
        for host in self.hosts:
            node = self.node(host)
            self.assertEqual(
                (node.vcpus_used, node.memory_mb_used),
                (
                    self.figures(host, 'vcpu')['used'],
                    self.figures(host, 'memory')['used'],
                ),
                host,
            )

    def test_boot_stop_start_delete(self):
        self.assert_books()
        server = self.boot()
        self.assertEqual(1, self.node(self.host_of(server)).vcpus_used)
        self.assert_books()
        self._stop_server(server)
        self.assert_books()
        self._start_server(server)
        self.assert_books()
        self._delete_server(server)
        self.assert_books()
