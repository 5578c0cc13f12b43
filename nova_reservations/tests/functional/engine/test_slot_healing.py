# SPDX-License-Identifier: Apache-2.0
"""A lease gets slots on other hosts when its hosts fail, on a cloud in
memory.
"""

import pytest

from nova_reservations.tests.functional.engine import test_instances
from nova_reservations.tests.functional.engine.test_instances import active
from nova_reservations.tests.functional.engine.test_instances import boot
from nova_reservations.tests.functional.engine.test_instances import furniture
from nova_reservations.tests.functional.engine.test_instances import slots


@pytest.fixture
def make(make_region):
    def make(*names):
        return make_region(*names, types=test_instances.TYPES)

    return make


def fail(region, host):
    region.cloud.fail(host, forced_down=True)
    region.look()


def shown(region, lease):
    """Return whether the lease lacks resources, and whether they have
    changed."""
    [reservation] = region.see(lease).reservations
    return reservation.missing_resources, reservation.resources_changed


def assert_in_nova(region, lease, offered):
    """Check that the lease has exactly these slots, everywhere in the
    cloud."""
    found = furniture(region, lease)
    assert found['slots'] == offered
    assert found['hosts'] == set(offered)
    assert found['whose'] == 'lessee'


def test_servers_that_are_apart_stay_apart(make):
    region = make('one', 'two', 'three')
    lease = active(region, *slots(2, affinity=False))
    kept, failed = sorted(region.hosts_of(lease))
    [spare] = {'one', 'two', 'three'} - {kept, failed}
    fail(region, failed)
    assert shown(region, lease) == (False, True)
    assert_in_nova(region, lease, {kept: 1, spare: 1})
    assert furniture(region, lease)['group'] is False


def test_servers_that_are_together_stay_together(make):
    region = make('one', 'two')
    lease = active(region, *slots(2, affinity=True))
    [failed] = region.hosts_of(lease)
    [other] = {'one', 'two'} - {failed}
    fail(region, failed)
    assert shown(region, lease) == (False, True)
    assert_in_nova(region, lease, {other: 2})
    assert furniture(region, lease)['group'] is True


def test_apart_is_not_given_up_for_a_place(make):
    region = make('one', 'two')
    lease = active(region, *slots(2, affinity=False))
    fail(region, 'one')
    assert shown(region, lease) == (True, False)
    assert_in_nova(region, lease, {'two': 1})


def test_a_host_that_is_enrolled_heals_who_lacks_slots(make):
    region = make('one')
    lease = active(region, *slots(2))
    fail(region, 'one')
    assert shown(region, lease) == (True, False)
    region.add_host('two')
    region.look()
    assert shown(region, lease) == (False, True)
    assert_in_nova(region, lease, {'two': 2})


def test_servers_on_a_failed_host_go_with_the_lease(make):
    region = make('one', 'two')
    lease = active(region, *slots(1))
    [failed] = region.hosts_of(lease)
    boot(region, lease, failed)
    fail(region, failed)
    assert shown(region, lease) == (False, True)
    region.forward(until=61)
    assert region.status(lease) == 'TERMINATED'
    assert not region.cloud.instances


def test_a_pending_lease_has_slots_elsewhere_and_nothing_was_changed(make):
    region = make('one', 'two')
    lease = region.lease_of(slots(1), start=5)
    region.work()
    [failed] = region.hosts_of(lease)
    [other] = {'one', 'two'} - {failed}
    fail(region, failed)
    assert shown(region, lease) == (False, False)
    region.forward(until=5)
    assert region.status(lease) == 'ACTIVE'
    assert_in_nova(region, lease, {other: 1})
