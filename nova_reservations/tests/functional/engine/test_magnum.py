# SPDX-License-Identifier: Apache-2.0
"""The documentation's example of a type that is made of others, as printed,
with a stub of Magnum."""

import pytest

from nova_reservations import exception
from nova_reservations import ports
from nova_reservations.testing.region import minutes
from nova_reservations.tests.examples.magnum import clusters
from nova_reservations.tests.examples.magnum import stub
from nova_reservations.types.servers import flavor

CLUSTER = 'example:cluster'
TYPES = {'flavor:instance': flavor.FlavorInstance, CLUSTER: clusters.Cluster}


@pytest.fixture
def magnum():
    with stub.served() as magnum:
        yield magnum


@pytest.fixture
def region(make_region, magnum):
    region = make_region('one', 'two', types=TYPES)
    for name, vcpus in ('small', 1), ('big', 8):
        region.cloud.known_flavors[name] = ports.KnownFlavor(
            id=name,
            name=name,
            is_public=True,
            flavor=ports.Flavor(vcpus, 1024, 10),
            amounts={'VCPU': vcpus, 'MEMORY_MB': 1024},
            required=frozenset(),
            forbidden=frozenset(),
        )
    conf = region.types[CLUSTER].conf
    conf.set_override('auth_type', 'password', group='magnum')
    conf.register_opts(
        clusters.loading.get_auth_plugin_conf_options('password'),
        group='magnum',
    )
    for name, value in {
        'auth_url': f'{magnum.url}/v3',
        'username': 'nova',
        'password': 'secret',
        'user_domain_id': 'default',
    }.items():
        conf.set_override(name, value, group='magnum')
    return region


def ask(region, template='k8s', nodes=2, **more):
    asked = {'cluster_template': template, 'node_count': nodes}
    return region.lease_of((CLUSTER, asked), **more)


def amounts(region, lease):
    return {
        item.part_name: (item.params['flavor_id'], item.params['amount'])
        for item in region.see(lease).reservations
        if item.part_of
    }


def test_a_cluster_is_leased_made_resized_and_deleted(region, magnum):
    lease = ask(region)
    assert amounts(region, lease) == {
        'masters': ('small', 1),
        'nodes': ('big', 2),
    }
    region.work()
    [(key, cluster)] = magnum.clusters.items()
    assert key == ('lessee', f'reservation-{lease.reservations[0].id}')
    assert (cluster['master_count'], cluster['node_count']) == (1, 2)
    region.now += minutes(1)
    region.work()
    assert region.status(lease) == 'STARTING'
    assert region.see(lease).status_reason == 'Magnum creates the cluster'
    assert len(region.access.open_to('lessee')) == 2
    magnum.finish()
    region.forward(until=2)
    assert region.status(lease) == 'ACTIVE'
    region.change(lease, node_count=3)
    region.work()
    assert cluster['node_count'] == 3
    assert amounts(region, lease)['nodes'] == ('big', 3)
    region.forward(until=61)
    assert region.see(lease).status_reason == 'Magnum deletes the cluster'
    assert region.cloud.aggregate_hosts
    magnum.finish()
    region.forward(until=62)
    assert region.status(lease) == 'TERMINATED'
    assert not region.cloud.aggregate_hosts


def test_a_cluster_that_fails_is_undone_with_its_slots(region, magnum):
    lease = ask(region)
    region.work()
    [cluster] = magnum.clusters.values()
    cluster |= {'status': 'CREATE_FAILED', 'status_reason': 'No network.'}
    region.forward(until=1)
    assert region.status(lease) == 'ERROR'
    assert 'No network.' in region.see(lease).status_reason
    magnum.finish()
    region.forward(until=2)
    assert not magnum.clusters
    assert not region.cloud.aggregate_hosts


def test_a_template_that_magnum_does_not_know_is_told(region):
    with pytest.raises(exception.InvalidInput, match='cluster template k9s'):
        ask(region, template='k9s')


def test_a_silent_magnum_is_waited_for(region, magnum):
    lease = ask(region)
    magnum.silent = True
    with pytest.raises(exception.CloudUnavailable):
        ask(region)
    region.work()
    assert region.status(lease) == 'STARTING'
    magnum.silent = False
    region.forward(until=0.5)
    magnum.finish()
    region.forward(until=1)
    assert region.status(lease) == 'ACTIVE'


def test_no_cluster_is_made_twice(region, magnum):
    lease = ask(region, start=5)
    booking = clusters.base.Booking.looked_at(
        lease, lease.reservations[0], (), region.now
    )
    kind = region.types[CLUSTER]
    assert kind.start(booking)
    assert kind.start(booking)
    assert len(magnum.clusters) == 1
