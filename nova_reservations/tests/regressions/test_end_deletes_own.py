# SPDX-License-Identifier: Apache-2.0
"""The end of a lease of hosts deleted ordinary servers of its project.

Each server of the lessee on a host of the lease counted as one of the lease,
even if the lease had never let it in. A server of the lease that was being
rescheduled at its end was on no host, and stayed behind. So did a server whose
nova-conductor was killed before the server had a cell: an enrolment waited for
it. Issue 13, items 1 (its last sentence) and 2.
"""

import dataclasses
from unittest import mock

from nova import context as nova_context
from nova import exception as nova_exception
from nova import objects
from nova.conductor import api as conductor_api
from nova.conductor import manager as conductor_manager
from nova.conductor import rpcapi as conductor_rpcapi
from nova.scheduler.client import report
from nova.virt import fake
import pytest

from nova_reservations import ports
from nova_reservations.objects import states
from nova_reservations.testing.region import minutes
from nova_reservations.tests.functional.nova import shared

ACTIONS = ['delete', 'shelve', 'migrate']


def with_stranger(region, project='lessee', **asked):
    """Return an active lease, a server of the lease, and a server that the
    lease has not let in. Both servers are on the host of the lease."""
    lease = region.active_lease(**asked)
    (host,) = region.hosts_of(lease)
    return (
        lease,
        region.cloud.boot(host, 'lessee'),
        region.cloud.intrude(host, project),
    )


@pytest.mark.parametrize('action', ACTIONS)
@pytest.mark.parametrize('project', ['lessee', 'somebody'])
def test_an_end_leaves_a_server_that_it_has_not_let_in(
    region, project, action
):
    lease, _own, stranger = with_stranger(region, project, end_action=action)
    region.forward(until=61)
    assert set(region.cloud.instances) == {stranger}
    assert region.cloud.instances[stranger].condition == 'active'
    assert region.status(lease) == 'TERMINATING'
    del region.cloud.instances[stranger]
    region.forward(until=61.1)
    assert region.status(lease) == 'TERMINATED'


def test_no_server_that_was_not_let_in_is_copied_before_the_end(region):
    _lease, own, _stranger = with_stranger(
        region, end=80, before_end='snapshot'
    )
    region.forward(until=79)
    assert [server for server, _ in region.cloud.images] == [own]


def test_no_server_that_was_not_let_in_is_evacuated(make_region):
    region = make_region('one', 'two')
    region.opts.set_override('heal_evacuate', True, group='reservations')
    region.cloud.fail('two')
    region.look()
    _lease, own, stranger = with_stranger(region, end=80)
    region.cloud.recover('two')
    region.look()
    region.cloud.fail('one', forced_down=True)
    region.look()
    on = {uuid: one.host for uuid, one in region.cloud.instances.items()}
    assert on == {own: 'two', stranger: 'one'}


def test_an_owner_is_told_of_its_own_server_by_name(region):
    lease, _, stranger = with_stranger(region)
    region.forward(until=61)
    (host,) = region.hosts_of(lease)
    assert region.see(lease).status_reason == (
        f'server {stranger} (active) on host {host} was not created in this '
        'reservation: move or delete it'
    )


def test_an_owner_is_not_told_whose_other_servers_there_are(region, caplog):
    lease, _, stranger = with_stranger(region, 'somebody')
    region.forward(until=61)
    reason = region.see(lease).status_reason
    assert 'a server that is not of this reservation' in reason
    assert stranger not in reason
    assert 'somebody' not in reason
    assert f'server {stranger} of project somebody' in caplog.text


def test_a_stranger_is_not_waited_for_without_end(make_region):
    region = make_region('one', end_timeout=minutes(1))
    lease, _, stranger = with_stranger(region, 'somebody')
    region.forward(until=62)
    assert region.status(lease) == 'ERROR'
    assert region.told(lease).count('event.end_lease.error') == 1
    assert stranger in region.cloud.instances


@pytest.mark.parametrize('action', ACTIONS)
def test_a_server_that_is_rescheduled_at_the_end_is_deleted(region, action):
    lease = region.active_lease(end_action=action)
    (host,) = region.hosts_of(lease)
    server = region.cloud.boot(host, 'lessee')
    region.cloud.instances[server] = dataclasses.replace(
        region.cloud.instances[server],
        host='',
        state='building',
        task='scheduling',
    )
    region.forward(until=61)
    assert region.status(lease) == 'TERMINATED'
    assert region.cloud.instances == {}
    assert region.cloud.shelved | region.cloud.migrated == set()


def test_a_server_that_is_built_without_the_reservation_is_left(region):
    lease = region.active_lease()
    region.cloud.instances['other'] = ports.Server(
        'other', 'lessee', '', 'building', 'scheduling'
    )
    region.forward(until=61)
    assert region.status(lease) == 'TERMINATED'
    assert 'other' in region.cloud.instances


class EndOnNovaTest(shared.SharedNova):
    def test_an_ordinary_server_of_the_lessee_outlives_the_lease(self):
        self.enrol('host1')
        lease = self.lease()
        own, ordinary = self.boot(lease), self.boot(lease)
        # Its hint is as if nova-conductor had taken an alternate past every
        # filter.
        spec = objects.RequestSpec.get_by_instance_uuid(
            nova_context.get_admin_context(), ordinary['id']
        )
        spec.scheduler_hints = {'another': [lease.reservations[0].id]}
        spec.save()
        self.end(lease)
        self._wait_until_deleted(own)
        self.pass_time(seconds=10)
        ended = self.end(lease)
        self.assertEqual(states.Lease.TERMINATING, ended.status)
        self.assertIn(
            f'server {ordinary["id"]} (active) on host host1 was not created '
            'in this reservation',
            ended.status_reason,
        )
        self.assertEqual(
            'ACTIVE', self.api.get_server(ordinary['id'])['status']
        )
        self.api.delete_server(ordinary['id'])
        self.end_completely(lease)

    def test_a_server_that_is_rescheduled_goes_with_its_lease(self):
        self.enrol('host1', 'host2')
        lease = self.lease(2)
        with (
            mock.patch.object(
                fake.FakeDriver,
                'spawn',
                side_effect=nova_exception.InstanceDeployFailure(reason='no'),
            ),
            # The request to try the next host gets no answer.
            mock.patch.object(
                conductor_api.ComputeTaskAPI, 'build_instances'
            ) as again,
        ):
            server = self.post(lease)
            self._wait_for_assert(again.assert_called_once)
        self.end_completely(lease)
        self._wait_until_deleted(server)

    def test_a_build_that_nobody_goes_on_with_goes_with_its_lease(self):
        self.enrol('host1')
        lease = self.lease()
        with mock.patch.object(
            conductor_rpcapi.ComputeTaskAPI, 'schedule_and_build_instances'
        ):
            lost = self.post(lease)
            ordinary = self.post()
        self.assertTrue(self.in_flight() >= {lost['id'], ordinary['id']})
        self.end_completely(lease)
        self._wait_until_deleted(lost)
        self.assertEqual(
            'BUILD', self.api.get_server(ordinary['id'])['status']
        )
        self.assertEqual({ordinary['id']}, self.in_flight())

    def test_a_server_that_nova_itself_does_not_know_is_not_waited_for(self):
        """nova-conductor is killed after it has created the server's record in
        the cell, and before its mapping. Then the server is deleted, and the
        record stays."""
        self.enrol('host1')
        lease = self.lease()
        with mock.patch.object(
            conductor_manager.ComputeTaskManager,
            '_map_instance_to_cell',
            side_effect=SystemError('killed'),
        ) as killed:
            lost = self.post(lease)
            self._wait_for_assert(killed.assert_called_once)
        # A nova-api whose own database is not the cell's deletes only these
        # two.
        context = nova_context.get_admin_context()
        objects.BuildRequest.get_by_instance_uuid(
            context, lost['id']
        ).destroy()
        report.report_client_singleton().delete_allocation_for_instance(
            context, lost['id'], force=True
        )
        self._wait_until_deleted(lost)
        self.assertIn(lost['id'], self.in_flight())
        self.end_completely(lease)

    def in_flight(self):
        cloud = self.services.hosts.cloud
        [host] = cloud.hosts.find_hosts('host1')
        return set(cloud.servers.in_flight([host])['host1'])
