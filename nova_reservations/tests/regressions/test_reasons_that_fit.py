# SPDX-License-Identifier: Apache-2.0
"""The reason of a waiting lease that named a thousand hosts was longer than
its column. MariaDB refused each write of the reason, and the start failed for
ever.

Issue 13, item 5.
"""

import pytest

from nova_reservations import objects
from nova_reservations.db.leases import leases
from nova_reservations.objects import reasons
from nova_reservations.testing import region as regions
from nova_reservations.types import base
from nova_reservations.types.servers import host

HOSTS = [f'{number:04}.{"compute" * 8}.example.org' for number in range(1300)]


class Slow(host.PhysicalHost):
    """Hosts whose start always waits for a thousand other hosts."""

    def start(self, booking):
        return base.Waiting(f'Waiting for {", ".join(HOSTS)}')


@pytest.fixture
def region(any_database):
    region = regions.Region(
        any_database.url, 'one', types={objects.HOST: Slow}
    )
    yield region
    region.close()


def test_a_lease_that_waits_for_many_hosts_goes_on_waiting(region):
    lease = region.active_lease()
    assert lease.status == 'STARTING'
    assert lease.claimed_by is None
    assert lease.status_reason.startswith(f'Waiting for {HOSTS[0]}, ')
    named = lease.status_reason.count('compute' * 8)
    assert lease.status_reason.endswith(f' ... and {1300 - named:,} more')


def test_a_reason_is_not_written_again_as_long_as_it_is_the_same(region):
    before = region.active_lease()
    region.now = before.due_at
    region.work()
    assert region.see(before).version == before.version


def test_a_reason_of_the_longest_characters_fits(region):
    lease = region.active_lease()
    with region.database.writer() as session:
        leases.change(
            session, lease, region.now, status_reason='\U0001f600' * 70_000
        )
    assert len(region.see(lease).status_reason) <= reasons.LONGEST


@pytest.mark.parametrize(
    ('reason', 'told'),
    [
        ('short', 'short'),
        ('x' * reasons.LONGEST, 'x' * reasons.LONGEST),
        (
            '; '.join(['server on a host'] * 1000),
            '; '.join(['server on a host'] * 109) + ' ... and 891 more',
        ),
        ('a, ' + 'b ' * 2000, 'a, ' + 'b ' * 986 + 'b ...'),
    ],
    ids=['short', 'just so long', 'a list', 'prose'],
)
def test_a_reason_is_cut_between_two_of_its_parts(reason, told):
    assert reasons.fit(reason) == told
