# SPDX-License-Identifier: Apache-2.0
"""Reservations that expand into others of the same lease."""

import pytest

from nova_reservations import exception
from nova_reservations.engine.booking import lease_requests
from nova_reservations.engine.booking import parts
from nova_reservations.engine.leases import series
from nova_reservations.engine.worker import deleted_servers
from nova_reservations.objects import states
from nova_reservations.testing import addresses
from nova_reservations.testing.region import minutes
from nova_reservations.tests.functional.engine import clusters
from nova_reservations.types import complex as complex_types

NOTHING = 0, 0, 0
ALL = 2, 2, 1


@pytest.fixture
def region(make_region):
    region, _ = clusters.region_of(make_region, clusters.nothing)
    return region


def test_all_parts_are_promised_with_the_whole(region):
    lease = clusters.ask(region, start=10)
    whole, *its = lease.reservations
    assert whole.part_of is None
    assert [(item.part_of, item.part_name) for item in its] == [
        (whole.id, 'machines'),
        (whole.id, 'nodes'),
        (whole.id, 'addresses'),
    ]
    assert len(region.hosts_of(lease)) == 3
    assert region.see(lease).reservations == lease.reservations
    with pytest.raises(exception.NotEnoughResources):
        region.lease(start=10, minimum=1)


@pytest.mark.parametrize(
    'sizes', [{'machines': 2}, {'machines': 1, 'nodes': 9}, {'addresses': 3}]
)
def test_nothing_is_promised_if_one_part_is_not_there(region, sizes):
    with pytest.raises(exception.NotEnoughResources):
        clusters.ask(region, **sizes)
    clusters.ask(region, nodes=8, addresses=2)


def test_reservations_that_were_asked_for_come_before_all_parts(region):
    host = 'physical:host', clusters.hosts(1)
    lease = region.lease_of((clusters.CLUSTER, {'nodes': 1}), host, start=5)
    assert [item.resource_type for item in lease.reservations] == [
        clusters.CLUSTER,
        'physical:host',
        clusters.SLOTS,
    ]


def test_parts_start_first_and_end_last(region):
    lease = clusters.ask(region, start=20, end=60)
    region.forward(until=19)
    assert clusters.in_cloud(region, lease) == (0, 2, 0)
    region.now += minutes(1)
    region.work()
    # One of the two servers exists; the parts are open so that it can be
    # created.
    assert region.status(lease) == 'STARTING'
    assert clusters.statuses(region, lease) == ['pending'] + ['active'] * 3
    assert clusters.in_cloud(region, lease) == (1, 2, 1)
    assert region.see(lease).status_reason == 'its servers are being made'
    region.now += minutes(0.1)
    region.work()
    assert region.status(lease) == 'ACTIVE'
    assert clusters.statuses(region, lease) == ['active'] * 4
    assert clusters.in_cloud(region, lease) == ALL
    region.now += minutes(40)
    region.work()
    assert region.status(lease) == 'TERMINATING'
    assert clusters.in_cloud(region, lease) == (1, 2, 1)
    region.forward(until=62)
    assert region.status(lease) == 'TERMINATED'
    assert clusters.statuses(region, lease) == ['deleted'] * 4
    assert clusters.in_cloud(region, lease) == NOTHING
    assert region.hosts_of(lease) == set()


def test_servers_land_in_parts_while_the_whole_is_started(region):
    lease = clusters.ask(region)
    region.work()
    assert region.status(lease) == 'STARTING'
    nodes = clusters.parts_of(lease)['nodes'].id
    [opened] = region.access.open_to('lessee')
    assert (opened.reservation_id, opened.slots) == (nodes, 2)
    access = region.access.admit(nodes, 'lessee', in_slot=True)
    assert region.access.use(access.lease_id, region.now)
    assert nodes in region.access.owners([nodes])


def test_only_parts_are_open_before_their_lease_is_active(region):
    lease = region.lease_of(
        (clusters.CLUSTER, {'nodes': 2}),
        (clusters.SLOTS, clusters.slots(1)),
    )
    region.work()
    assert clusters.statuses(region, lease) == ['pending', 'pending', 'active']
    with pytest.raises(exception.InvalidState):
        region.access.admit(lease.reservations[1].id, 'lessee', in_slot=True)
    region.forward(until=1)
    assert clusters.statuses(region, lease) == ['active'] * 3


def test_a_whole_that_can_not_be_started_is_undone_with_its_parts(region):
    lease = clusters.ask(region)
    region.work()
    guest = region.cloud.boot('one', 'lessee')
    region.cloud.reservation_of[guest] = clusters.parts_of(lease)['nodes'].id
    why = exception.CloudRefused(what='A server', reason='no')
    region.fails('create server', why)
    region.now += minutes(0.1)
    region.work()
    # The owner reads this reason, and not what the end waits for.
    assert region.status(lease) == 'ERROR'
    assert region.see(lease).status_reason == str(why)
    region.forward(until=2)
    assert region.status(lease) == 'ERROR'
    assert region.see(lease).status_reason == str(why)
    assert clusters.statuses(region, lease) == ['error'] * 4
    assert clusters.in_cloud(region, lease) == NOTHING
    assert region.hosts_of(lease) == set()
    assert region.told(lease)[-1] == 'event.start_lease.error'


def test_a_part_that_can_not_be_started_undoes_all_of_them(region):
    lease = clusters.ask(region, addresses=2)
    addresses.take(region, 102)
    region.forward(until=2)
    assert region.status(lease) == 'ERROR'
    assert clusters.in_cloud(region, lease) == (0, 0, 1)
    assert addresses.there(region) == {102: 'other'}


def test_a_lease_is_deleted_while_its_whole_is_started(region):
    lease = clusters.ask(region)
    region.work()
    region.delete(lease)
    region.forward(until=2)
    with pytest.raises(exception.NotFound):
        region.see(lease)
    assert not region.cloud.instances
    assert not region.cloud.aggregate_hosts
    assert addresses.there(region) == {}


def test_parts_are_kept_while_the_cloud_does_not_answer_for_the_whole(region):
    lease = clusters.ask(region, end=20)
    region.forward(until=19)
    silent = exception.CloudUnavailable(service='It', reason='silent')
    region.fails('delete server', silent)
    region.now += minutes(1)
    region.work()
    assert clusters.in_cloud(region, lease) == ALL
    region.forward(until=22)
    assert region.status(lease) == 'TERMINATED'
    assert clusters.in_cloud(region, lease) == NOTHING


def test_hosts_of_a_part_that_fail_are_replaced(region):
    region.add_host('three')
    lease = clusters.ask(region, machines=1, nodes=1)
    region.forward(until=1)
    hosts = clusters.parts_of(lease)['machines'].id
    [failed] = region.cloud.aggregate_hosts[hosts]
    region.cloud.fail(failed)
    region.look()
    [replacement] = region.cloud.aggregate_hosts[hosts]
    assert replacement != failed
    assert region.see(lease).degraded


def test_hosts_that_fail_while_the_whole_starts_are_replaced(region):
    lease = clusters.ask(region, machines=0)
    region.work()
    assert region.status(lease) == 'STARTING'
    [server] = region.cloud.instances.values()
    region.cloud.fail(server.host)
    region.look()
    region.forward(until=1)
    assert region.status(lease) == 'ACTIVE'
    nodes = clusters.parts_of(lease)['nodes'].id
    # The lease holds the failed host until its first server there is gone.
    assert server.host not in region.cloud.aggregate_hosts[nodes]
    assert region.hosts_of(lease) > {'one', 'two'}
    assert len(region.cloud.instances) == 2


# Changes


def test_a_change_of_the_whole_changes_its_parts(region):
    lease = clusters.ask(region, start=10)
    region.change(lease, nodes=3, addresses=2)
    its = clusters.parts_of(region.see(lease))
    assert its['nodes'].params['amount'] == 3
    assert its['addresses'].params['amount'] == 2
    assert its['machines'].params['min'] == 1
    region.forward(until=11)
    assert clusters.in_cloud(region, lease) == (3, 2, 2)


def test_parts_come_and_go_before_the_start(region):
    lease = clusters.ask(region, start=30, machines=0)
    region.change(lease, machines=1, addresses=0)
    changed = region.see(lease)
    assert list(clusters.parts_of(changed)) == ['nodes', 'machines']
    assert region.hosts_of(lease) == {'one', 'two'}
    # The addresses that were given back are free again.
    region.lease_of(addresses.asked(2), start=30)
    region.forward(until=31)
    assert clusters.statuses(region, lease) == ['active'] * 3


def test_an_active_whole_gets_more_and_more_parts(region):
    lease = clusters.ask(region, machines=0)
    region.forward(until=1)
    region.change(lease, nodes=4, machines=1)
    assert clusters.statuses(region, lease) == ['active'] * 4
    region.work()
    assert clusters.in_cloud(region, lease) == (4, 2, 1)


def test_an_active_whole_keeps_its_parts(region):
    lease = clusters.ask(region)
    region.forward(until=1)
    before = region.see(lease)
    with pytest.raises(
        exception.InvalidState, match=r'as part addresses .* can not be left'
    ):
        region.change(lease, addresses=0)
    assert region.see(lease).reservations == before.reservations


def test_slots_of_a_part_are_given_back_when_nothing_is_in_them(region):
    lease = clusters.ask(region, machines=0, nodes=2, addresses=0)
    region.forward(until=1)
    with pytest.raises(exception.InvalidState, match='slots are used'):
        region.change(lease, nodes=1)
    del region.cloud.instances[clusters.servers(lease.reservations[0])[1]]
    region.change(lease, nodes=1)
    region.forward(until=2)
    assert clusters.parts_of(region.see(lease))['nodes'].params['amount'] == 1
    assert len(region.cloud.instances) == 1


def test_a_change_that_does_not_fit_changes_nothing(region):
    lease = clusters.ask(region, start=10)
    with pytest.raises(exception.NotEnoughResources):
        region.change(lease, nodes=9)
    with pytest.raises(exception.NotEnoughResources):
        region.change(lease, machines=2)
    assert region.see(lease).reservations == lease.reservations


def test_a_part_is_not_changed_alone(region):
    lease = clusters.ask(region, start=10)
    whole, part = lease.reservations[:2]
    with pytest.raises(
        exception.InvalidInput,
        match=f'{part.id} is part of reservation {whole.id}: change that one',
    ):
        region.leases.update(
            lease.id,
            lease_requests.LeaseChanges(reservations={part.id: {'max': 2}}),
            region.now,
        )


@pytest.mark.parametrize('nodes', [2, 3], ids=['no change', 'a change'])
def test_a_change_is_refused_that_was_made_for_what_has_changed(region, nodes):
    lease = clusters.ask(region, start=10)
    changes = region.leases.requests.look_up(
        lease,
        lease_requests.LeaseChanges(
            reservations={lease.reservations[0].id: {'nodes': nodes}}
        ),
        region.now,
    )
    region.change(lease, nodes=4)
    with pytest.raises(exception.Contended):
        region.leases.change_writer.asked(
            region.see(lease), changes, region.now
        )


# What else a lease can be


def test_a_series_has_parts_of_its_own_in_each_lease(region):
    made = region.services.series.create(
        lease_requests.NewLease(
            name='series',
            project_id='lessee',
            user_id='user',
            start=region.now + minutes(10),
            end=region.now + minutes(20),
            before_end=None,
            reservations=(
                lease_requests.NewReservation(
                    clusters.CLUSTER, {'machines': 1, 'nodes': 1}
                ),
            ),
        ),
        series.Repeat(every=minutes(24 * 60), count=2),
        region.now,
    )
    for lease in made.leases:
        assert list(clusters.parts_of(lease)) == ['machines', 'nodes']


def test_a_cluster_that_waits_gets_all_of_its_parts_or_waits_on(region):
    first = region.lease(minimum=1, end=30)
    lease = clusters.ask(region, lease_type=states.LeaseType.RETRY)
    region.forward(until=5)
    assert region.status(lease) == 'CREATING'
    region.change(lease, nodes=3, addresses=0)
    region.delete(first)
    region.forward(until=10)
    assert region.status(lease) == 'ACTIVE'
    assert clusters.in_cloud(region, lease) == (3, 2, 0)


def test_no_hosts_are_emptied_for_one(region):
    with pytest.raises(exception.InvalidInput, match='not for test:cluster'):
        clusters.ask(region, lease_type=states.LeaseType.BEST_EFFORT)


def test_a_dry_run_shows_its_parts_and_makes_none(region):
    lease = region.leases.create(
        lease_requests.NewLease(
            name='dry',
            project_id='lessee',
            user_id='user',
            start=region.now,
            end=region.now + minutes(20),
            before_end=None,
            reservations=(
                lease_requests.NewReservation(clusters.CLUSTER, {'nodes': 1}),
            ),
        ),
        region.now,
        dry_run=True,
    )
    assert list(clusters.parts_of(lease)) == ['nodes']
    with pytest.raises(exception.NotFound):
        region.see(lease)


def test_notifications_say_what_is_part_of_what(region):
    lease = clusters.ask(region)
    whole = lease.reservations[0].id
    [(_, payload)] = [
        note for note in region.notes if note[0] == 'lease.create'
    ]
    assert [item.get('part_of') for item in payload['reservations']] == [
        None,
        whole,
        whole,
        whole,
    ]


# What can not be


def refused(region, match, **sizes):
    with pytest.raises(exception.InvalidInput, match=match):
        clusters.ask(region, **sizes)


def test_a_cluster_without_parts_is_refused(region):
    refused(
        region,
        'nothing that could be reserved',
        machines=0,
        nodes=0,
        addresses=0,
    )


@pytest.mark.parametrize(
    ('wanted', 'match'),
    [
        ([('a', clusters.CLUSTER)], 'can not be part of a test:cluster'),
        ([('a', 'physical:host')] * 2, 'two parts of the same name'),
        ([('', 'physical:host')], 'not of 1 to 64 characters'),
        ([('a' * 65, 'physical:host')], 'not of 1 to 64 characters'),
        ([('a', 'virtual:volcano')], 'virtual:volcano .* is not supported'),
        ([(str(n), 'physical:host') for n in range(64)], 'has 64 parts'),
    ],
)
def test_parts_that_can_not_be_are_told(region, monkeypatch, wanted, match):
    monkeypatch.setattr(
        clusters.Cluster,
        'expand',
        lambda *_: [
            complex_types.Part(*each, clusters.hosts(1)) for each in wanted
        ],
    )
    refused(region, match)


def test_no_lease_has_too_many_reservations_by_the_parts_of_some(region):
    many = [(clusters.CLUSTER, {'nodes': 1})] * 33
    with pytest.raises(exception.InvalidInput, match='this one has 66'):
        region.lease_of(*many)


def test_parts_are_reviewed_as_if_they_were_asked_for(region):
    seen = []

    def review(resource_type, asked):
        seen.append(resource_type)
        if asked.get('amount') == 4:
            raise exception.InvalidInput('no more than 3')

    lease = clusters.ask(region, start=5, review=review)
    assert seen == ['physical:host', clusters.SLOTS, 'virtual:floatingip']
    with pytest.raises(exception.InvalidInput, match='no more than 3'):
        region.leases.update(
            lease.id,
            lease_requests.LeaseChanges(
                reservations={lease.reservations[0].id: {'nodes': 4}},
                review=review,
            ),
            region.now,
        )
    assert parts.allow(clusters.SLOTS, {}) is None


def test_a_cluster_that_nobody_uses_ends_as_other_leases_do(make_region):
    region = make_region(
        'one',
        types=clusters.TYPES,
        unused_lease_timeout=minutes(10),
        unused_lease_action=states.UnusedAction.END,
    )
    lease = region.lease_of((clusters.CLUSTER, {'machines': 1}))
    region.forward(until=11)
    region.soon(deleted_servers.TASK)
    region.work()
    assert region.status(lease) == 'TERMINATED'
    assert 'It was not used' in region.see(lease).status_reason


def test_a_part_is_shared_as_any_other_and_the_whole_is_not(region):
    lease = clusters.ask(region, machines=0)
    whole, nodes, _ = (item.id for item in lease.reservations)
    with pytest.raises(exception.InvalidInput):
        region.services.sharing.add(lease.id, whole, 'other', region.now)
    region.services.sharing.add(lease.id, nodes, 'other', region.now)
    region.work()
    assert region.access.find(nodes).is_for('other')
