# SPDX-License-Identifier: Apache-2.0
"""The clouds that the contract is held to, and what a user does on them."""

from collections.abc import Callable
import uuid

from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.testing import fake_cloud
from nova_reservations.tests.functional.nova import base

HOSTS = ('host1', 'host2', 'host3')
PROJECT = base.MINE


class World:
    """:ivar cloud: the ports.
    :ivar hosts: three hosts that nobody has enrolled, and that are empty.
    """

    def __init__(self, cloud: ports.Cloud) -> None:
        self.cloud = cloud
        self.hosts = [self.host(name) for name in HOSTS]

    def host(self, name: str) -> objects.Resource:
        [host] = self.cloud.hosts.find_hosts(name)
        return host

    def boot(self, host: objects.Resource) -> str:
        """Return a server of the project's that runs on the host."""
        raise NotImplementedError

    def eventually(self, holds: Callable[[], bool]) -> None:
        """Wait for what Nova has been asked for."""
        raise NotImplementedError


class Fake(World):
    def __init__(self) -> None:
        cloud = fake_cloud.FakeCloud(*HOSTS)
        super().__init__(cloud)

    def boot(self, host: objects.Resource) -> str:
        return self.cloud.boot(host.name, PROJECT, str(uuid.uuid4()))

    def eventually(self, holds: Callable[[], bool]) -> None:
        assert holds()


class Started(base.NovaTestCase):
    """A Nova that is started once, and shared by tests that clean up."""

    hosts = HOSTS

    def setUp(self) -> None:
        super().setUp()
        # To shelve a server is asked for in its project's name.
        self.trust()

    def runTest(self) -> None:
        """No test of its own."""


class Nova(World):
    def __init__(self, nova: Started) -> None:
        self.nova = nova
        super().__init__(nova.services.hosts.cloud)

    def boot(self, host: objects.Resource) -> str:
        return self.nova.boot(az=f'nova:{host.name}')['id']

    def eventually(self, holds: Callable[[], bool]) -> None:
        # A busy machine takes longer than what Nova waits for by itself.
        self.nova._wait_for_assert(
            lambda: self.nova.assertTrue(holds()), max_retries=120
        )

    def clean(self) -> None:
        """Take away all that a test may have made."""
        servers = [one['id'] for one in self.nova.api.get_servers()]
        for server in servers:
            self.nova.api.delete_server(server)
        for server in servers:
            self.nova._wait_until_deleted({'id': server})
        for reservation_id in self.cloud.aggregates.lease_aggregates():
            self.cloud.aggregates.delete_aggregate(
                reservation_id, lambda: None
            )
        for host in self.hosts:
            self.cloud.aggregates.leave_pool(host)
            self.cloud.aggregates.unmark(host)
