# SPDX-License-Identifier: Apache-2.0
"""Actions before a lease ends, an hour after noon at the latest."""

import dataclasses

import pytest

from nova_reservations import exception
from nova_reservations.plugins.event_actions import offered as before_end
from nova_reservations.testing.region import minutes
from nova_reservations.testing.region import NOON
from nova_reservations.tests.examples import wall
from nova_reservations.tests.functional.engine import test_end_actions

with_servers = test_end_actions.with_servers


def warning(region, lease):
    return region.see(lease).event('before_end_lease').status


def orders(region):
    return [server for server, _ in region.cloud.images]


class TestSnapshot:
    def test_snapshots_are_of_each_server_before_the_end(self, region):
        lease, servers = with_servers(
            region, 2, end=120, before_end='snapshot'
        )
        region.forward(until=59)
        assert orders(region) == []
        region.forward(until=61)
        assert sorted(orders(region)) == sorted(servers)
        assert warning(region, lease) == 'DONE'
        assert region.status(lease) == 'ACTIVE'

    def test_a_snapshot_is_not_asked_for_by_default(self, region):
        with_servers(region, end=120)
        region.forward(until=119)
        assert orders(region) == []

    def test_a_snapshot_that_takes_its_time_is_waited_for(self, region):
        lease, (server,) = with_servers(region, end=120, before_end='snapshot')
        region.cloud.slow_servers.add(server)
        region.forward(until=61)
        assert warning(region, lease) == 'IN_PROGRESS'
        assert region.see(lease).status_reason == (
            f'Waiting for snapshots: server {server}: is being made'
        )
        assert 'event.before_end_lease' in region.told(lease)
        region.cloud.slow_servers.clear()
        region.forward(until=62)
        assert orders(region) == [server]
        assert warning(region, lease) == 'DONE'
        assert region.see(lease).status_reason is None

    def test_a_snapshot_that_fails_is_reported_and_the_lease_goes_on(
        self, region
    ):
        lease, (broken, sound) = with_servers(
            region, 2, end=120, before_end='snapshot'
        )
        region.cloud.broken.add(broken)
        region.forward(until=61)
        assert orders(region) == [sound]
        assert warning(region, lease) == 'ERROR'
        assert region.see(lease).status_reason == (
            f'A snapshot was refused: server {broken}: Nova has failed at it'
        )
        assert region.told(lease)[-2:] == [
            'event.before_end_lease',
            'event.before_end_lease.error',
        ]
        region.forward(until=121)
        assert region.status(lease) == 'TERMINATED'

    def test_the_end_waits_for_it_but_lets_nobody_in(self, region):
        lease, (server,) = with_servers(region, end=120, before_end='snapshot')
        region.cloud.slow_servers.add(server)
        region.change(lease, before_end=119)
        region.forward(until=120.1)
        assert region.status(lease) == 'TERMINATING'
        assert 'snapshots' in region.see(lease).status_reason
        assert region.cloud.instances[server].task is None
        region.cloud.slow_servers.clear()
        region.forward(until=122)
        assert region.status(lease) == 'TERMINATED'
        assert warning(region, lease) == 'DONE'

    @pytest.mark.parametrize(
        'state, task', [('active', 'deleting'), ('deleted', None)]
    )
    def test_a_server_that_is_being_deleted_has_no_snapshot(
        self, region, state, task
    ):
        lease, (kept, deleted) = with_servers(
            region, 2, end=120, before_end='snapshot'
        )
        servers = region.cloud.instances
        servers[deleted] = dataclasses.replace(
            servers[deleted], state=state, task=task
        )
        region.forward(until=61)
        assert orders(region) == [kept]
        assert warning(region, lease) == 'DONE'

    def test_the_end_does_not_wait_for_ever(self, region):
        lease, (server,) = with_servers(region, end=120, before_end='snapshot')
        region.cloud.slow_servers.add(server)
        region.forward(until=60.1)
        region.now = NOON + minutes(71)
        region.work()
        assert warning(region, lease) == 'ERROR'

    def test_another_snapshot_is_made_when_the_end_was_moved(self, region):
        lease, (server,) = with_servers(region, end=120, before_end='snapshot')
        region.forward(until=61)
        region.change(lease, end=120)
        assert region.told(lease)[-1] == 'event.before_end_lease.stop'
        region.forward(until=122)
        assert orders(region) == [server] * 2

    def test_a_snapshot_is_refused_where_images_can_not_be_made(self, region):
        region.cloud.trusted = False
        with pytest.raises(exception.InvalidInput, match='service_user'):
            region.lease(before_end='snapshot')


class TestWhatIsOffered:
    @pytest.mark.parametrize('name', ['', None, 'default', 'notify'])
    def test_to_be_told_is_always(self, region, name):
        lease = region.lease(end=120, before_end=name)
        region.forward(until=61)
        assert warning(region, lease) == 'DONE'

    @pytest.mark.parametrize('name', ['email', 'compress'])
    def test_an_action_that_is_not_offered_is_refused_with_those_that_are(
        self, region, name
    ):
        with pytest.raises(
            exception.InvalidInput,
            match=f'before_end {name} .* one of: default, notify, snapshot',
        ):
            region.lease(before_end=name)


class TestAnother:
    """The action that the documentation has as an example."""

    @pytest.fixture
    def folder(self, tmp_path):
        folder = tmp_path / 'wall'
        folder.mkdir()
        return folder

    @pytest.fixture
    def region(self, make_region, folder, monkeypatch):
        monkeypatch.setitem(before_end.SHIPPED, 'wall', wall.Wall)
        region = make_region(
            'one', 'two', overrides={'before_end_actions': ['wall']}
        )
        region.opts.set_override('wall', str(folder), group='example')
        return region

    def test_an_action_is_run_until_it_has_finished(self, region, folder):
        lease, (server,) = with_servers(region, end=120, before_end='wall')
        region.forward(until=61)
        assert region.see(lease).status_reason == 'Waiting for the screens'
        (note,) = folder.iterdir()
        assert server in note.name
        assert note.read_text().startswith('a lease ends at 2030-01-01 14:00')
        note.with_suffix('.seen').touch()
        region.forward(until=62)
        assert warning(region, lease) == 'DONE'

    def test_an_action_may_refuse(self, region):
        region.opts.clear_override('wall', group='example')
        with pytest.raises(exception.InvalidInput, match='no wall'):
            region.lease(before_end='wall')
