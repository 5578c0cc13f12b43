# SPDX-License-Identifier: Apache-2.0
"""Projects may have servers in a reservation of theirs while it is active."""

import pytest

from nova_reservations import exception


def admit(region, lease, project='lessee', in_slot=False):
    [reservation] = lease.reservations
    return region.access.admit(reservation.id, project, in_slot=in_slot)


def test_a_server_lands_on_the_hosts_of_its_lease(region):
    lease = region.active_lease(minimum=2)
    assert admit(region, lease).hosts == region.hosts_of(lease)


def test_a_reservation_of_another_project_is_none(region):
    with pytest.raises(exception.NotFound):
        admit(region, region.active_lease(), project='stranger')


def test_no_server_lands_before_the_start_or_after_the_end(region):
    lease = region.lease(start=10, end=60)
    with pytest.raises(exception.InvalidState):
        admit(region, lease)
    region.forward(until=10)
    assert admit(region, lease).hosts
    region.forward(until=60)
    with pytest.raises(exception.InvalidState):
        admit(region, lease)


def test_no_server_lands_on_a_host_that_has_failed(region):
    lease = region.active_lease(minimum=3)
    region.cloud.fail('one')
    region.monitoring.poll(region.now)
    assert admit(region, lease).hosts == {'two', 'three'}


def test_while_all_hosts_have_failed_there_is_no_host(make_region):
    region = make_region('one')
    lease = region.active_lease()
    region.cloud.fail('one')
    region.monitoring.poll(region.now)
    with pytest.raises(exception.NotEnoughResources):
        admit(region, lease)
