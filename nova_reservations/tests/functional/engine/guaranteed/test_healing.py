# SPDX-License-Identifier: Apache-2.0
"""Guaranteed places are replaced when their hosts fail."""

import dataclasses

import pytest

from nova_reservations import exception
from nova_reservations.testing.region import minutes
from nova_reservations.tests.functional.engine.guaranteed import places


class TestHealing:
    @pytest.fixture
    def region(self, region):
        region.opts.set_override('heal_evacuate', True, 'reservations')
        return region

    def test_the_place_is_replaced_and_the_server_follows(self, region):
        lease, (server,) = places.asked_for(region)
        region.work()
        failed = places.host_of(region, server)
        region.cloud.fail(failed, forced_down=True)
        region.look()
        [other] = {'one', 'two'} - {failed}
        # Placement keeps the slot on the failed host as long as the server
        # holds it.
        assert places.of(region, lease) == ({failed: 1, other: 1}, {other})
        region.now += minutes(1)
        region.look()
        assert places.host_of(region, server) == other
        region.now += minutes(1)
        region.look()
        assert places.of(region, lease) == ({other: 1}, {other})
        [reservation] = region.see(lease).reservations
        assert reservation.resources_changed
        assert not reservation.missing_resources
        region.now += minutes(1)
        region.cloud.recover(failed)
        region.look()
        region.look()
        assert region.hosts_of(region.lease()) == {failed}
        region.forward(until=65)
        assert places.of(region, lease) == places.NOTHING

    def test_a_place_that_fails_while_its_server_is_built_is_not_given_away(
        self, region
    ):
        """Nobody else gets its host, on which the server may be."""
        lease, (server,) = places.asked_for(region)
        region.cloud.instances[server] = dataclasses.replace(
            region.cloud.instances[server], state='building'
        )
        region.work()
        failed = places.host_of(region, server)
        region.cloud.fail(failed)
        region.look()
        region.cloud.recover(failed)
        region.look()
        assert region.status(lease) == 'STARTING'
        with pytest.raises(exception.NotEnoughResources):
            region.lease(minimum=1)

    def test_a_place_that_fails_before_its_time_is_just_another(self, region):
        lease, (server,) = places.asked_for(region, start=30)
        region.work()
        [failed] = region.hosts_of(lease)
        region.cloud.fail(failed)
        region.look()
        region.soon('heal')
        region.forward(until=31)
        [other] = {'one', 'two'} - {failed}
        assert (
            region.hosts_of(lease)
            == {other}
            == {places.host_of(region, server)}
        )
