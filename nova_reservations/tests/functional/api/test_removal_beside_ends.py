# SPDX-License-Identifier: Apache-2.0
"""A client deletes a lease, and then what the lease had, as Heat does with a
stack of both."""

import pytest

from nova_reservations.engine.leases import short_waits


@pytest.fixture
def settings(settings, waiting):
    settings.set_override('api_threads', 4, group='reservations')
    return settings


@pytest.fixture
def leased(enrolled, member, workers):
    """Two hosts of an active lease, and its path."""
    lease = member.lease(
        reservations=[{'resource_type': 'physical:host', 'min': 3, 'max': 3}]
    )
    workers.work()
    return f'/leases/{lease["id"]}'


@pytest.fixture
def host(admin):
    return f'/os-hosts/{admin("GET", "/os-hosts").json["hosts"][0]["id"]}'


def test_the_removal_of_a_host_waits_for_the_end_of_its_lease(
    admin, member, leased, host, workers, waiting
):
    assert member('DELETE', leased).status_int == 204
    waiting.meanwhile = lambda: workers.work(seconds=5)
    assert admin('DELETE', host).status_int == 204
    assert 0 < waiting.seconds < short_waits.LONGEST
    assert admin('GET', host).status_int == 404


def test_the_removal_is_a_conflict_if_the_end_takes_longer(
    admin, member, leased, host, waiting
):
    member('DELETE', leased)
    assert admin('DELETE', host).status_int == 409
    assert waiting.seconds == pytest.approx(short_waits.LONGEST)


def test_a_host_that_a_lease_keeps_is_told_at_once(
    admin, leased, host, waiting
):
    assert admin('DELETE', host).status_int == 409
    assert waiting.seconds == 0


def test_the_removal_of_a_host_that_another_lease_will_have_is_a_conflict(
    admin, member, leased, host, waiting
):
    member.lease(
        start_date='2031-01-01 12:00',
        duration=60,
        reservations=[{'resource_type': 'physical:host', 'min': 3, 'max': 3}],
    )
    member('DELETE', leased)
    assert admin('DELETE', host).status_int == 409
    assert waiting.seconds == 0
