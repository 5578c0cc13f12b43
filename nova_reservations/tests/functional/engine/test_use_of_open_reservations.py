# SPDX-License-Identifier: Apache-2.0
"""Use of open hosts and slots, against brute force: servers come without a
hint, and are moved, shelved, resized and deleted."""

from collections import Counter
import dataclasses

from hypothesis import given
from hypothesis import HealthCheck
from hypothesis import settings
from hypothesis import strategies as st
import pytest

from nova_reservations import objects
from nova_reservations.engine.record import usage_reports
from nova_reservations.engine.worker import deleted_servers
from nova_reservations.objects import interval
from nova_reservations.objects import usage_reports as reports
from nova_reservations.testing import region as regions
from nova_reservations.testing.region import minutes
from nova_reservations.tests import profile
from nova_reservations.tests.functional.engine import test_used_servers
from nova_reservations.types.servers import host
from nova_reservations.types.servers import instance

OUTSIDE = 'outside'
SIZES = (test_used_servers.SMALL, test_used_servers.LARGE)
TYPES = {
    objects.HOST: host.PhysicalHost,
    'virtual:instance': instance.VirtualInstance,
}
DAYS = 7 * 24 * 60

comings = st.tuples(st.just('come'), st.integers(0, 1), st.sampled_from(SIZES))
others = st.tuples(
    st.sampled_from(
        [
            'be_deleted',
            'begin_to_leave',
            'come_back',
            'go_back',
            'leave',
            'move_within',
            'resize',
            'shelve',
        ]
    ),
    st.integers(0, 3),
    st.sampled_from(SIZES),
)
ends = st.tuples(st.just('end'), st.integers(0, 1), st.none())
acts = st.tuples(st.one_of(comings, others, others, ends), st.integers(0, 9))


@dataclasses.dataclass
class Known:
    """A server, as the oracle knows it.

    :ivar since: when its present use began; None: the server uses nothing.
    """

    uuid: str
    lease: objects.Lease
    size: object
    since: object


class Play:
    """The engine and the oracle, side by side."""

    def __init__(self, region):
        self.region = region
        whole = region.active_lease(end=DAYS, consume='open', minimum=2)
        slots = region.lease_of(
            (
                'virtual:instance',
                {
                    'vcpus': 1,
                    'memory_mb': 64,
                    'disk_gb': 1,
                    'amount': 4,
                    'affinity': None,
                    'resource_properties': '',
                    'consume': 'open',
                },
            ),
            end=DAYS,
        )
        region.work()
        # A lease does not end in the second in which it has begun.
        region.now += minutes(1)
        self.leases = [whole, slots]
        self.over = set()
        self.servers = []
        self.counted = Counter()

    def act(self, verb, number, size):
        if verb in ('come', 'end'):
            getattr(self, verb)(self.leases[number], size)
            return
        there = [
            known for known in self.servers if known.lease.id not in self.over
        ]
        if there:
            getattr(self, verb)(there[number % len(there)], size)

    def come(self, lease, size):
        if lease.id in self.over:
            return
        region = self.region
        server = region.cloud.intrude(self.host(lease), 'lessee')
        region.access.record_server(
            server, lease.reservations[0].id, region.now, chosen=True
        )
        self.servers.append(Known(server, lease, size, None))
        self.claim(self.servers[-1])

    def be_deleted(self, known, _):
        self.pause(known)
        self.region.cloud.instances.pop(known.uuid, None)
        self.region.cloud.at_rest.pop(known.uuid, None)
        self.servers.remove(known)

    def leave(self, known, _):
        """Move the server out, as if the reservation had no room."""
        if self.is_on_a_host(known):
            self.put(known, host=OUTSIDE, state='active')
            self.pause(known)

    def begin_to_leave(self, known, _):
        """Resize the server out of the reservation; the resize may still be
        reverted."""
        if self.is_on_a_host(known) and known.since is not None:
            self.put(known, host=OUTSIDE, state='resized')

    def go_back(self, known, _):
        """Revert a resize, for which nova-conductor asks no nova-scheduler."""
        if self.is_on_a_host(known) and self.state(known) == 'resized':
            self.put(known, host=self.host(known.lease), state='active')

    def come_back(self, known, _):
        cloud = self.region.cloud
        if known.since is None:
            shelved = cloud.at_rest.pop(known.uuid, None)
            if shelved is not None:
                cloud.instances[known.uuid] = shelved
            self.put(known, host=self.host(known.lease), state='active')
            self.claim(known)

    def move_within(self, known, _):
        if known.since is not None and self.state(known) == 'active':
            self.put(known, host=max(self.region.hosts_of(known.lease)))
            self.claim(known)

    def resize(self, known, size):
        if known.since is not None and self.state(known) == 'active':
            self.pause(known)
            known.size = size
            self.claim(known)

    def shelve(self, known, _):
        cloud = self.region.cloud
        if self.is_on_a_host(known) and self.state(known) == 'active':
            self.put(known, host='', state='shelved_offloaded')
            cloud.at_rest[known.uuid] = cloud.instances.pop(known.uuid)
            self.pause(known)

    def end(self, lease, _):
        if lease.id not in self.over:
            self.over.add(lease.id)
            self.region.change(lease, end=0)
            for known in self.servers:
                if known.lease is lease:
                    self.pause(known)

    # Helpers of the acts above

    def claim(self, known):
        """Record the use as nova-scheduler does after its claim."""
        region = self.region
        region.access.record_use(
            known.uuid,
            known.lease.reservations[0].id,
            known.size,
            region.now,
        )
        if known.since is None:
            known.since = region.now

    def pause(self, known):
        """Add up the server's use until now, and end it."""
        if known.since is not None:
            lasted = (self.region.now - known.since).total_seconds()
            lease_id = known.lease.id
            self.counted[lease_id, 'servers'] += lasted
            self.counted[lease_id, 'VCPU'] += lasted * known.size.vcpus
            self.counted[lease_id, 'MEMORY_MB'] += (
                lasted * known.size.memory_mb
            )
            known.since = None

    def host(self, lease):
        return min(self.region.hosts_of(lease))

    def is_on_a_host(self, known):
        return known.uuid in self.region.cloud.instances

    def state(self, known):
        return self.region.cloud.instances[known.uuid].state

    def put(self, known, **changes):
        instances = self.region.cloud.instances
        instances[known.uuid] = dataclasses.replace(
            instances[known.uuid], **changes
        )

    def pass_time(self, count):
        """Run the look that is due each minute, and let time pass."""
        region = self.region
        region.soon(deleted_servers.TASK)
        region.work()
        region.now += minutes(count)
        region.work()

    def check(self):
        region = self.region
        query = reports.ReportQuery(
            interval.Interval(regions.NOON, region.now + minutes(1)),
            region.now,
        )
        found = Counter()
        for usage in usage_reports.UsageReports(region.database, None, 2).find(
            query
        ):
            for lease in usage.leases:
                for name in ('servers', 'VCPU', 'MEMORY_MB'):
                    found[lease.lease_id, name] += lease.used.get(name, 0)
        going_on = [known.since for known in self.servers]
        for known in self.servers:
            self.pause(known)
        counted = +self.counted
        for known, since in zip(self.servers, going_on, strict=True):
            known.since = since and region.now
        assert +found == counted


@pytest.mark.fuzz
@given(played=st.lists(acts, min_size=3, max_size=14))
@settings(
    max_examples=profile.examples(80),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_used_is_what_servers_have_while_they_are_there(make_region, played):
    play = Play(make_region('one', 'two', 'three', types=TYPES))
    for act, pause in played:
        play.act(*act)
        play.pass_time(pause)
        play.check()
