# SPDX-License-Identifier: Apache-2.0
"""Volumes are kept, or backed up, at the end of their lease."""

import pytest

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.testing.pools import asked
from nova_reservations.testing.pools import enrol
from nova_reservations.testing.pools import FAST
from nova_reservations.testing.pools import MONITORS
from nova_reservations.testing.pools import SLOW
from nova_reservations.testing.pools import there
from nova_reservations.testing.pools import TYPES
from nova_reservations.testing.region import minutes
from nova_reservations.testing.region import NOON

pytestmark = pytest.mark.usefixtures('long_waits')

HOST = objects.HOST, {'min': 1, 'max': 1}


@pytest.fixture
def region(make_region):
    """A host, and two pools of 100 GiB."""
    region = make_region('one', types=TYPES, monitors=MONITORS)
    enrol(region, FAST, SLOW)
    return region


def of(project, size, count, status='available'):
    return [(project, size, status)] * count


@pytest.fixture
def keeps(region):
    """A region whose configuration lets leases keep volumes."""
    region.opts.set_override('kept_volume_type', 'open', 'reservations')
    region.cloud.volumes.add_type('open', pool_name='open')
    return region


def test_volumes_that_are_kept_leave_the_pool_at_the_end(keeps):
    keeps.cloud.volumes.slow = True
    lease = keeps.lease_of(HOST, asked(60, 2, end_action='keep'))
    keeps.work()
    keeps.cloud.volumes.finish()
    keeps.forward(until=61)
    assert keeps.status(lease) == 'TERMINATING'
    assert 'is being moved out' in keeps.see(lease).status_reason
    with pytest.raises(exception.NotEnoughResources):
        keeps.lease_of(asked(60, 2))
    keeps.cloud.volumes.finish()
    keeps.forward(until=62)
    assert keeps.status(lease) == 'TERMINATED'
    assert there(keeps) == of('lessee', 60, 2)
    kept = {made.type_name for made in keeps.cloud.volumes.made.values()}
    assert kept == {'open'} == keeps.cloud.volumes.types.keys()
    keeps.lease_of(asked(60, 2))


def test_a_pool_is_kept_until_what_was_copied_out_of_it_is_deleted(keeps):
    volumes = keeps.cloud.volumes
    lease = keeps.lease_of(asked(60, end_action='keep'))
    keeps.work()
    (pool,) = (made.pool for made in volumes.made.values())
    (name,) = (made.volume.name for made in volumes.made.values())
    volumes.copies = True
    keeps.forward(until=65)
    kept, left = sorted(there(keeps))
    assert (kept, left) == (
        ('lessee', 60, 'available'),
        ('lessee', 60, 'deleting'),
    )
    assert keeps.status(lease) == 'TERMINATING'
    assert (
        f'What volume {name} has left in the pool of leases is being deleted'
        in keeps.see(lease).status_reason
    )
    with pytest.raises(exception.NotEnoughResources):
        keeps.lease_of(asked(60, volume_type=pool.partition('#')[2]))
    volumes.finish()
    keeps.forward(until=67)
    assert keeps.status(lease) == 'TERMINATED'
    assert there(keeps) == of('lessee', 60, 1)
    keeps.lease_of(asked(60, volume_type=pool.partition('#')[2]))


def test_a_volume_that_is_deleted_elsewhere_keeps_no_pool(keeps):
    volumes = keeps.cloud.volumes
    lease = keeps.lease_of(asked(60))
    keeps.work()
    volumes.make('lessee', 'open', 5)
    volumes.set_status(list(volumes.made)[-1], 'deleting')
    keeps.forward(until=62)
    assert keeps.status(lease) == 'TERMINATED'


def test_a_volume_that_can_not_be_moved_is_told_of_and_stays(keeps):
    lease = keeps.lease_of(asked(60, end_action='keep'))
    keeps.work()
    keeps.cloud.volumes.broken = True
    keeps.forward(until=90)
    assert keeps.status(lease) == 'ERROR'
    assert 'no valid host was found' in keeps.see(lease).status_reason
    assert there(keeps) == of('lessee', 60, 1)
    keeps.cloud.volumes.broken = False
    keeps.forward(until=95)
    assert keeps.status(lease) == 'TERMINATED'
    assert there(keeps) == of('lessee', 60, 1)


def requests_to_move(region, *, until):
    """Let time pass; return the times at which Cinder is asked to move
    volumes."""
    asked_at = []

    def note(step):
        if step == 'retype volume':
            asked_at.append(region.now)

    region.cloud.before = note
    region.forward(until=until)
    return asked_at


def test_a_volume_that_cinder_fails_to_move_is_asked_for_once_a_minute(keeps):
    keeps.apart = None
    lease = keeps.lease_of(asked(60, end_action='keep'))
    keeps.work()
    volumes = keeps.cloud.volumes
    volumes.immovable.update(volumes.made)
    asked_at = requests_to_move(keeps, until=69)
    assert asked_at == [NOON + minutes(each) for each in range(60, 70)]
    shown = keeps.see(lease)
    assert shown.status == 'TERMINATING'
    assert 'is still in the pool of leases' in shown.status_reason
    assert 'ask the operator' in shown.status_reason
    assert 'logs of cinder-scheduler' in shown.status_detail
    keeps.forward(until=100)
    assert keeps.status(lease) == 'ERROR'
    assert 'is still in the pool of leases' in keeps.see(lease).status_reason
    volumes.immovable.clear()
    keeps.forward(until=103)
    assert keeps.status(lease) == 'TERMINATED'
    assert there(keeps) == of('lessee', 60, 1)


def test_the_snapshots_that_keep_a_volume_from_being_moved_are_named(keeps):
    lease = keeps.lease_of(asked(60, end_action='keep'))
    keeps.work()
    volumes = keeps.cloud.volumes
    (key,) = volumes.made
    volumes.snapshots[key] = ['a snapshot', 'another']
    keeps.forward(until=61)
    assert (
        'has snapshots; delete a snapshot, another'
        in keeps.see(lease).status_reason
    )
    del volumes.snapshots[key]
    keeps.forward(until=63)
    assert keeps.status(lease) == 'TERMINATED'
    assert there(keeps) == of('lessee', 60, 1)


def test_a_volume_that_is_backed_up_is_deleted_when_that_is_done(region):
    volumes = region.cloud.volumes
    lease = region.lease_of(asked(10, end_action='backup'))
    region.work()
    (key,) = volumes.made
    volumes.slow = True
    region.forward(until=61)
    assert 'is being backed up' in region.see(lease).status_reason
    assert there(region) == of('lessee', 10, 1, 'backing-up')
    volumes.finish()
    volumes.slow = False
    region.forward(until=63)
    assert region.status(lease) == 'TERMINATED'
    assert there(region) == []
    (backup,) = volumes.backups[key]
    assert backup.status == 'available'


def test_a_backup_that_fails_leaves_the_volume(region):
    volumes = region.cloud.volumes
    lease = region.lease_of(asked(10, end_action='backup'))
    region.work()
    (key,) = volumes.made
    volumes.broken = True
    region.forward(until=63)
    (failed,) = volumes.backups.pop(key)
    assert f'Backup {failed.id} of' in region.see(lease).status_reason
    assert there(region) == of('lessee', 10, 1)
    volumes.broken = False
    region.forward(until=65)
    assert region.status(lease) == 'TERMINATED'
    assert there(region) == []


def test_without_a_role_at_the_end_nothing_is_lost(region):
    lease = region.lease_of(asked(10, end_action='backup'))
    region.work()
    region.cloud.volumes.without_role.add('lessee')
    region.forward(until=63)
    assert region.status(lease) == 'TERMINATING'
    assert 'can not be backed up' in region.see(lease).status_reason
    assert there(region) == of('lessee', 10, 1)


def test_actions_that_can_not_be_done_at_the_end_are_refused(region):
    with pytest.raises(exception.InvalidInput, match='keep is not offered'):
        region.lease_of(asked(10, end_action='keep'))
    region.opts.set_override('kept_volume_type', 'gone', 'reservations')
    with pytest.raises(exception.InvalidInput, match='no volume type gone'):
        region.lease_of(asked(10, end_action='keep'))
    region.cloud.volumes.has_backup_service = False
    with pytest.raises(exception.InvalidInput, match='no cinder-backup'):
        region.lease_of(asked(10, end_action='backup'))


def test_the_action_at_the_end_can_be_changed_until_then(keeps):
    lease = keeps.lease_of(asked(10))
    keeps.work()
    keeps.change(lease, end_action='keep')
    keeps.forward(until=63)
    assert keeps.status(lease) == 'TERMINATED'
    assert there(keeps) == of('lessee', 10, 1)


def test_volumes_of_a_start_that_failed_are_not_kept(keeps):
    keeps.cloud.volumes.broken = True
    lease = keeps.lease_of(asked(10, end_action='keep'))
    keeps.work()
    keeps.forward(until=3)
    assert keeps.status(lease) == 'ERROR'
    assert there(keeps) == []
