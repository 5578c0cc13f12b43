# SPDX-License-Identifier: Apache-2.0
"""Owners learned that a promise of theirs had moved. Their lease was shown as
changed, and their calendar showed it on another host."""

import sqlalchemy as sa

from nova_reservations import objects
from nova_reservations.db import models
from nova_reservations.objects import interval
from nova_reservations.testing.region import minutes


def _on(region, host, start, end):
    """Return a lease to which this host is promised."""
    lease = region.lease(start=start, end=end)
    with region.database.writer() as session:
        key = session.scalar(
            sa.select(models.Resource.id).where(models.Resource.name == host)
        )
        session.execute(
            sa.update(models.Allocation)
            .where(
                models.Allocation.reservation_id == lease.reservations[0].id
            )
            .values(resource_id=key)
        )
    return lease


def _told(region, leases):
    """Return all that the owner of the leases reads of them."""
    window = interval.Interval(region.now, region.now + minutes(200))
    calendar = region.services.resources.calendar(objects.HOST)
    project_id = leases[0].project_id
    changed = region.services.lease_lists.find(
        objects.LeaseQuery(changed_since=region.now, sort_key='id')
    )
    return (
        [region.see(lease).updated_at for lease in leases],
        sorted({each.id for each in changed} & {each.id for each in leases}),
        calendar.of_project(project_id, window, 0, 10, region.now),
        [
            bar
            for bar in calendar.promised(project_id, window, region.now)
            if bar.own
        ],
    )


def test_a_move_changes_nothing_that_owners_read(make_region):
    region = make_region('one', 'two')
    crossed = _on(region, 'one', 60, 90), _on(region, 'two', 150, 180)
    region.forward(until=1)
    before = _told(region, crossed)
    hosts = [region.hosts_of(lease) for lease in crossed]
    region.lease(start=0.5, end=239, project='other')
    assert [region.hosts_of(lease) for lease in crossed] != hosts
    assert _told(region, crossed) == before


def test_a_moved_lease_does_not_tell_that_it_is_prepared_anew(make_region):
    region = make_region('one', 'two', prepare_ahead=minutes(100))
    crossed = _on(region, 'one', 60, 90), _on(region, 'two', 150, 180)
    region.work()
    before = _told(region, crossed)
    region.lease(start=0.5, end=239, project='other')
    region.forward(until=10)
    assert region.see(crossed[0]).prepared
    assert [region.see(lease).updated_at for lease in crossed] == before[0]
