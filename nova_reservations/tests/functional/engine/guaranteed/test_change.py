# SPDX-License-Identifier: Apache-2.0
"""Leases with a guaranteed place are changed, or deleted, or lose servers."""

import dataclasses
import uuid

import pytest

from nova_reservations import exception
from nova_reservations.engine.worker import deleted_servers
from nova_reservations.tests.functional.engine.guaranteed import places


class TestChange:
    @pytest.fixture
    def region(self, cloud_of):
        return cloud_of('one')

    @pytest.mark.parametrize('works', [True, False])
    def test_a_place_lasts_longer_where_it_is_or_not_at_all(
        self, region, works
    ):
        lease, (server,) = places.asked_for(region)
        if works:
            region.work()
        region.change(lease, end=90)
        region.add_host('two')
        region.lease(
            start=120,
            end=180,
            resource_properties='["==", "$service_name", "one"]',
        )
        with pytest.raises(exception.NotEnoughResources, match='where it is'):
            region.change(lease, end=150)
        region.change(lease, end=120)
        region.work()
        assert (
            region.hosts_of(lease)
            == {'one'}
            == {places.host_of(region, server)}
        )
        assert region.see(lease).status == 'ACTIVE'

    def test_a_place_for_later_may_be_planned_elsewhere(self, region):
        lease, (server,) = places.asked_for(region, start=30, end=60)
        region.work()
        region.add_host('two')
        region.lease(
            start=60,
            end=90,
            resource_properties='["==", "$service_name", "one"]',
        )
        region.change(lease, end=90)
        assert region.hosts_of(lease) == {'two'}
        with pytest.raises(exception.NotEnoughResources):
            places.request(region, 3, start=40, end=90)
        region.forward(until=31)
        assert places.host_of(region, server) == 'two'

    def test_dates_of_a_lease_count_while_its_servers_are_made(self, region):
        lease = places.request(region, start=30, end=60)
        region.lease(start=60, end=90)
        with pytest.raises(exception.NotEnoughResources):
            region.change(lease, end=90)
        region.change(lease, end=50)
        region.lease(start=50, end=60)

    def test_a_lease_that_has_begun_does_not_begin_later(self, region):
        lease, _ = places.asked_for(region)
        with pytest.raises(exception.InvalidInput, match='already started'):
            region.change(lease, start=30)

    def test_a_server_in_its_place_can_not_be_told_to_stay(self, region):
        lease, _ = places.asked_for(region)
        region.change(lease, on_end='create_image,delete')
        with pytest.raises(exception.InvalidInput, match='add delete to'):
            region.change(lease, on_end='suspend')

    @pytest.mark.parametrize('start', [0, 30])
    @pytest.mark.parametrize('works', [True, False])
    def test_a_deleted_lease_leaves_nothing(self, region, start, works):
        lease, (server,) = places.asked_for(region, start=start)
        if works:
            region.work()
        region.delete(lease)
        region.forward(until=1)
        assert places.is_gone(region, lease)
        assert places.state_of(region, server) == 'gone'
        places.asked_for(region, 2)

    def test_a_lease_ends_with_its_servers(self, region):
        lease, servers = places.asked_for(region, 2)
        region.work()
        for server in servers:
            del region.cloud.instances[server]
        region.soon(deleted_servers.TASK)
        region.work()
        assert region.status(lease) == 'TERMINATED'
        assert places.of(region, lease) == places.NOTHING

    def test_a_resize_has_to_fit(self, region):
        _, (server,) = places.asked_for(region)
        region.cloud.known_flavors |= {
            'large': dataclasses.replace(
                places.HALF, amounts={'VCPU': 9, 'MEMORY_MB': 1}
            ),
            'small': dataclasses.replace(
                places.HALF, amounts={'VCPU': 8, 'MEMORY_MB': 1}
            ),
        }
        check = region.server_leases.check_resize
        with pytest.raises(exception.InvalidState, match='flavor large asks'):
            check(server, 'large')
        check(server, 'small')
        check(server, 'one that nova does not have')
        check(str(uuid.uuid4()), 'large')
        region.forward(until=61)
        check(server, 'large')
