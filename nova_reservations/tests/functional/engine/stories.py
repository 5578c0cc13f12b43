# SPDX-License-Identifier: Apache-2.0
"""Leases that need a worker's next steps; each story returns its lease."""

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.testing import copies
from nova_reservations.testing import region as regions
from nova_reservations.testing.region import minutes
from nova_reservations.testing.region import NOON

THE_END = 90
"""Minutes after noon; all work that the stories begin is over by then."""


def told(
    make_region: regions.Factory, story: copies.Story
) -> tuple[regions.Region, objects.Lease]:
    """Return a region with three hosts after a story, and its lease."""
    names = ('one', 'two', 'three')
    if story is refused_start:
        # The cloud of a copied region would not refuse.
        region = make_region(*names)
        return region, story(region)
    return copies.after(make_region, story, *names)


def prepare(region):
    lease = region.lease(start=20, end=60, minimum=3)
    region.now = NOON + minutes(10)
    return lease


def start(region):
    return region.lease(end=60, minimum=3)


def prepared_start(region):
    lease = prepare(region)
    region.work()
    region.now = NOON + minutes(20)
    return lease


def refused_start(region):
    set_aggregate_hosts = region.cloud.aggregates.set_aggregate_hosts

    def without_the_last(reservation_id, project_id, hosts, *more):
        set_aggregate_hosts(reservation_id, project_id, hosts[:-1], *more)
        raise exception.CloudRefused(what='a host', reason='unknown')

    region.cloud.aggregates.set_aggregate_hosts = without_the_last
    return region.lease(end=60, minimum=3)


def missed_start(region):
    lease = region.lease(start=5, end=20, minimum=3)
    region.work()
    region.now = NOON + minutes(20)
    return lease


def update(region):
    one = '["==","$service_name","one"]'
    lease = region.active_lease(end=60, resource_properties=one)
    region.change(lease, min=3, max=3, resource_properties='')
    return lease


def shrinking(region):
    lease = region.active_lease(end=60, minimum=3)
    region.change(lease, min=1, max=1)
    return lease


def warning(region):
    lease = region.active_lease(end=80, minimum=3)
    region.now = NOON + minutes(20)
    return lease


def snapshots(region):
    lease = region.active_lease(end=80, minimum=3, before_end='snapshot')
    for host in region.hosts_of(lease):
        region.cloud.boot(host, 'lessee', server=f'on {host}')
    region.now = NOON + minutes(20)
    return lease


def migrating_end(region):
    """An end that finds another host for two of three servers."""
    lease = region.active_lease(end=60, minimum=3, end_action='migrate')
    for host in region.hosts_of(lease):
        region.cloud.boot(host, 'lessee', server=f'on {host}')
    region.cloud.homeless.add('on two')
    region.now = NOON + minutes(60)
    return lease


def end(region):
    lease = region.active_lease(end=60, minimum=3)
    for host in region.hosts_of(lease):
        region.cloud.boot(host, 'lessee', server=f'on {host}')
    region.now = NOON + minutes(60)
    return lease


def shelving_end(region):
    """An end that shelves servers after they have had time to stop."""
    lease = region.active_lease(
        end=60, minimum=3, end_action='shelve', end_grace=5
    )
    for host in region.hosts_of(lease):
        region.cloud.boot(host, 'lessee', server=f'on {host}')
    region.now = NOON + minutes(60)
    return lease


def slow_end(region):
    lease = end(region)
    region.cloud.slow_servers |= set(region.cloud.instances)
    region.work()
    region.cloud.finish_tasks()
    region.now += minutes(1)
    return lease


def late_end(region):
    """An end that took too long, and is over now."""
    lease = end(region)
    region.cloud.slow_servers |= set(region.cloud.instances)
    region.work()
    region.now += minutes(11)
    region.work()
    assert region.status(lease) == 'ERROR'
    region.cloud.finish_tasks()
    region.now += minutes(1)
    return lease


def delete_active(region):
    lease = end(region)
    region.now = NOON + minutes(30)
    region.delete(lease)
    return lease


def delete_prepared(region):
    lease = prepare(region)
    region.work()
    region.delete(lease)
    return lease


def delete_ending(region):
    lease = slow_end(region)
    region.delete(lease)
    return lease


def _failure(region):
    region.cloud.fail('three')
    region.look()
    lease = region.active_lease(end=80, minimum=2)
    region.cloud.boot('one', 'lessee', server='on one')
    region.cloud.recover('three')
    region.look()
    region.cloud.fail('one')
    return lease


def fence(region):
    """Force all failed hosts down, so that nothing runs there. No end deletes
    a server that may still run on a silent host."""
    for host in region.cloud.services:
        region.cloud.fail(host, forced_down=True)


def failure(region):
    """A host has failed, and no monitor has seen that yet."""
    lease = _failure(region)
    region.soon('monitor')
    return lease


def seen_failure(region):
    lease = _failure(region)
    region.monitoring.poll(region.now)
    return lease


def healed_failure(region):
    """A failure that is healed in our database, and not yet in Nova."""
    lease = seen_failure(region)
    region.healing.heal(region.now)
    assert region.aggregate_of(lease) == {'one', 'two'}
    return lease


def evacuation(region):
    region.opts.set_override('heal_evacuate', True, group='reservations')
    lease = _failure(region)
    region.cloud.fail('one', forced_down=True)
    region.monitoring.poll(region.now)
    region.healing.heal(region.now)
    return lease


def recovery_without_spare(region):
    lease = region.active_lease(end=80, minimum=3)
    region.cloud.fail('one')
    region.look()
    region.cloud.recover('one')
    region.soon('monitor')
    return lease


def vacated_host(region):
    lease = _failure(region)
    region.look()
    region.cloud.boot('three', 'lessee', server='on three')
    region.cloud.recover('one')
    region.look()
    del region.cloud.instances['on one']
    region.now += minutes(1)
    region.soon('monitor')
    return lease


def recovery_in_time(region):
    """A host that recovers before its replacement is used."""
    lease = _failure(region)
    region.look()
    region.now += minutes(1)
    region.cloud.recover('one')
    region.soon('monitor')
    return lease


BY_MONITOR = [
    failure,
    seen_failure,
    recovery_without_spare,
    recovery_in_time,
]
"""In these stories a worker acts for the cloud, and not by a claim of the
lease.
"""

ALL = [
    prepare,
    start,
    prepared_start,
    refused_start,
    missed_start,
    update,
    shrinking,
    warning,
    snapshots,
    end,
    migrating_end,
    shelving_end,
    slow_end,
    late_end,
    delete_active,
    delete_prepared,
    delete_ending,
    failure,
    seen_failure,
    healed_failure,
    evacuation,
    recovery_without_spare,
    recovery_in_time,
    vacated_host,
]
