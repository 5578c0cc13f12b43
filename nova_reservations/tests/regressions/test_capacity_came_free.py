# SPDX-License-Identifier: Apache-2.0
"""Some code that freed capacity told the leases that wait, but not the
degraded leases. Those noticed it an hour later, or never. Issue 13, item 7.
"""

import dataclasses

import pytest
import sqlalchemy as sa

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.db import models
from nova_reservations.db.holdings import healing
from nova_reservations.db.leases import freed_capacity
from nova_reservations.db.leases import leases
from nova_reservations.db.leases import looks
from nova_reservations.engine import claimed_leases
from nova_reservations.engine.booking import lease_requests
from nova_reservations.plugins.monitors import base
from nova_reservations.testing.region import minutes
from nova_reservations.tests.examples.licences import licences
from nova_reservations.tests.functional.engine.guaranteed import places
from nova_reservations.types.servers import host
from nova_reservations.types.servers import server

TYPES = {
    objects.HOST: host.PhysicalHost,
    objects.SERVER: server.Server,
    licences.NAME: licences.Licence,
}
MANY = 100


def host_of(region, name):
    [found] = region.hosts.find(objects.HostQuery(name=name))
    return found


def do_next(region, lease):
    """Do the due work of one lease, and no other due work."""
    region.now = max(region.now, region.see(lease).due_at)
    with region.database.writer() as session:
        attempt = region.see(lease).attempt
        assert leases.claim(
            session, lease.id, attempt, 'it', region.now, region.now
        )
    region.worker('it').runner.run(
        claimed_leases.Claim(lease.id, attempt + 1, 'it')
    )


def an_update(region):
    lease = region.lease(start=30, end=60)
    return lambda: region.change(lease, end=50)


def a_delete(region):
    lease = region.lease(start=30, end=60)
    return lambda: region.delete(lease)


def a_delete_of_one_that_has_begun(region):
    lease = region.active_lease(end=60)

    def delete():
        region.delete(lease)
        do_next(region, lease)

    return delete


def an_end(region):
    lease = region.active_lease(end=60)

    def end():
        do_next(region, lease)
        assert region.status(lease) == 'TERMINATED'

    return end


def a_start_that_is_missed(region):
    lease = region.lease(start=30, end=31)

    def miss():
        region.now += minutes(32)
        do_next(region, lease)
        assert region.status(lease) == 'ERROR'

    return miss


def a_request_for_servers_that_nova_refuses(region):
    region.cloud.known_flavors['half'] = places.HALF
    lease = region.server_leases.request(
        lease_requests.NewLease(
            name='a lease',
            project_id='lessee',
            user_id='user',
            start=region.now + minutes(30),
            end=region.now + minutes(60),
            before_end=None,
            reservations=(
                lease_requests.NewReservation(
                    objects.SERVER,
                    {
                        'guaranteed': True,
                        'flavor_id': 'half',
                        'amount': 1,
                        'availability_zone': None,
                    },
                ),
            ),
        ),
        region.now,
    )
    return lambda: region.server_leases.refuse(lease.id, region.now)


def an_enrolment(region):
    region.add_host('new', enrol=False)
    return lambda: region.enrol('new')


def a_removal_that_fails(region):
    [degraded] = region.lease_lists.find(
        objects.LeaseQuery(statuses=('ACTIVE',))
    )
    name = min({'one', 'two'} - region.hosts_of(degraded))

    def remove():
        region.cloud.boot(name, 'somebody', 'a server')
        with pytest.raises(exception.HostInUse):
            region.hosts.enrolment.remove(host_of(region, name).id, region.now)

    return remove


def a_property(region):
    return lambda: region.hosts.update(
        host_of(region, 'one').id, {'gpu': 'yes'}, region.now
    )


def a_fact(region):
    return a_fact_of(region, vcpus=999)


def a_fact_of(region, vcpus):
    facts = region.cloud.known['one']
    region.cloud.known['one'] = dataclasses.replace(facts, vcpus=vcpus)
    one = host_of(region, 'one')
    return lambda: region.hosts.refresh_facts(
        {one.facts.uuid: one}, region.now
    )


def a_recovery(region):
    region.cloud.fail('one')
    region.look()

    def recover():
        region.cloud.recover('one')
        [monitor] = region.monitoring.monitors
        region.monitoring.record(
            monitor, base.Changes(recovered=['one']), region.now
        )

    return recover


def a_resource_of_another_type(region):
    return lambda: region.resources.add(
        licences.NAME, 'a licence', region.now, {'SEATS': 1}
    )


def a_host_that_was_replaced_and_is_left(region):
    lease = region.active_lease(end=300)
    [name] = region.hosts_of(lease)
    region.cloud.boot(name, 'lessee', 'stays')
    region.cloud.fail(name)
    region.look()
    region.now += minutes(2)
    del region.cloud.instances['stays']
    return lambda: region.healing.check_replaced(region.now)


@pytest.mark.parametrize(
    'site',
    [
        an_update,
        a_delete,
        a_delete_of_one_that_has_begun,
        an_end,
        a_start_that_is_missed,
        a_request_for_servers_that_nova_refuses,
        an_enrolment,
        a_removal_that_fails,
        a_property,
        a_fact,
        a_recovery,
        a_resource_of_another_type,
        a_host_that_was_replaced_and_is_left,
    ],
)
def test_freed_capacity_is_told_to_the_waiting_and_to_the_degraded(
    make_region, site
):
    region = make_region('one', 'two', 'three', 'four', types=TYPES)
    degraded = region.active_lease(end=600)
    region.retry(minimum=MANY, end=600, retries=50)
    free = site(region)
    region.work()
    with region.database.writer() as session:
        session.execute(
            sa.update(models.Lease)
            .where(models.Lease.id == degraded.id)
            .values(degraded=True)
        )
        session.execute(
            sa.update(models.Reservation)
            .where(models.Reservation.lease_id == degraded.id)
            .values(missing_resources=True)
        )
    assert not told(region)
    free()
    assert told(region) == {'waiting', 'degraded'}


def told(region):
    with region.database.reader() as session:
        due = looks.at(session, region.now).tasks
        freed = freed_capacity.untold(session)
    found = {'degraded'} if healing.HEAL in due else set()
    if freed_capacity.QUEUE in due and freed:
        found.add('waiting')
    return found


def test_a_host_that_a_lease_has_left_goes_to_one_that_waits_for_it(
    make_region,
):
    region = make_region('one')
    lease = region.lease(
        start=30, end=60, hypervisor_properties='[">=", "$vcpus", "16"]'
    )
    waits = region.retry(
        start=30,
        end=60,
        retries=50,
        resource_properties='["==", "$service_name", "one"]',
    )
    region.add_host('two')
    a_fact_of(region, vcpus=8)()
    region.work()
    assert region.status(waits) == 'CREATING'
    region.healing.heal(region.now)
    region.work()
    assert region.hosts_of(lease) == {'two'}
    assert region.hosts_of(waits) == {'one'}
