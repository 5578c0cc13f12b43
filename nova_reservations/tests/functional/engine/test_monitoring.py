# SPDX-License-Identifier: Apache-2.0
"""Looks at resources without ``enable_polling_monitor``."""

from nova.conf import notifications
import pytest

from nova_reservations import objects
from nova_reservations.testing.region import minutes

ALL = objects.HostQuery()


@pytest.fixture
def unpolled(make_region):
    """A region where only notifications tell that a host has failed."""
    region = make_region(
        'one',
        'two',
        enable_polling_monitor=False,
        polling_interval=minutes(1),
        down_after=minutes(2),
    )
    notifications.register_opts(region.opts)
    return region


def notify(region, host):
    region.monitoring.on_notification(
        'service.update',
        {'nova_object.data': {'binary': 'nova-compute', 'host': host}},
        region.now,
    )


def host(region, name):
    [found] = [
        host for host in region.hosts.find(ALL) if host.resource.name == name
    ]
    return found


def test_a_host_is_back_that_reports_after_it_was_forced_up(unpolled):
    region = unpolled
    region.cloud.fail('one', forced_down=True)
    notify(region, 'one')
    # Nova tells at once that it is no longer forced down; its nova-compute
    # has yet to report, and of that Nova tells nobody.
    region.cloud.fail('one')
    notify(region, 'one')
    assert host(region, 'one').down_since is not None
    region.cloud.recover('one')
    region.forward(until=2)
    assert host(region, 'one').down_since is None


def test_a_host_that_is_down_fails_in_time(unpolled):
    region = unpolled
    region.cloud.fail('one')
    notify(region, 'one')
    assert host(region, 'one').hold == 'down'
    region.forward(until=4)
    assert host(region, 'one').down_since is not None


def test_a_host_that_works_is_not_asked_for(unpolled):
    region = unpolled
    asked = []
    compute_services = region.cloud.hosts.compute_services

    def listen(now, names):
        asked.append(set(names))
        return compute_services(now, names)

    region.cloud.hosts.compute_services = listen
    region.forward(until=3)
    assert asked == []
    region.cloud.fail('one', disabled=True)
    notify(region, 'one')
    region.cloud.recover('one')
    region.forward(until=6)
    assert asked == [{'one'}, {'one'}]
    assert host(region, 'one').hold is None
