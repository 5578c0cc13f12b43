# SPDX-License-Identifier: Apache-2.0
import pytest

from nova_reservations.engine.leases import short_waits

pytestmark = pytest.mark.usefixtures('enrolled')


def test_an_active_lease_gives_hosts_back(member, workers):
    lease = member.lease(
        reservations=[{'resource_type': 'physical:host', 'min': 3, 'max': 3}]
    )
    path, [reservation] = f'/leases/{lease["id"]}', lease['reservations']
    workers.work()

    def change(**asked):
        return member(
            'PUT', path, {'reservations': [{'id': reservation['id'], **asked}]}
        )

    for status, names in (409, ['x']), (400, 'x'), (400, ['']), (400, [1]):
        assert change(release_hosts=names).status_int == status
    answer = change(min=2, max=2)
    assert answer.status_int == 200
    [shown] = answer.json['lease']['reservations']
    assert (shown['min'], shown['max']) == (2, 2)
    assert 'release_hosts' not in shown
    assert 'given back' in change(min=3, max=3).json['error_message']
    workers.work(seconds=5)
    workers.work(seconds=5)
    assert change(min=3, max=3).status_int == 200


@pytest.fixture
def settings(settings, waiting):
    settings.set_override('api_threads', 4, group='reservations')
    return settings


@pytest.fixture
def giving_back(member, workers):
    """Return a function that asks for more hosts, or a later end, of a lease
    that is just giving a host back."""
    lease = member.lease(
        reservations=[{'resource_type': 'physical:host', 'min': 3, 'max': 3}]
    )
    path, [reservation] = f'/leases/{lease["id"]}', lease['reservations']
    workers.work()

    def change(**asked):
        body = {'reservations': [{'id': reservation['id'], **asked}]}
        return member('PUT', path, body)

    assert change(min=2, max=2).status_int == 200
    return change


def test_a_change_in_that_moment_waits(giving_back, workers, waiting):
    waiting.meanwhile = workers.work
    answer = giving_back(min=3, max=3)
    assert answer.status_int == 200
    [shown] = answer.json['lease']['reservations']
    assert (shown['min'], shown['max']) == (3, 3)
    assert 0 < waiting.seconds < short_waits.LONGEST


def test_a_change_is_a_conflict_if_giving_back_takes_longer(
    giving_back, waiting
):
    answer = giving_back(min=3, max=3)
    assert answer.status_int == 409
    assert 'given back' in answer.json['error_message']
    assert waiting.seconds == pytest.approx(short_waits.LONGEST)


def test_a_change_that_needs_nothing_more_does_not_wait(giving_back, waiting):
    assert giving_back(min=1, max=1).status_int == 200
    assert waiting.seconds == 0


def test_a_conflict_of_another_kind_is_told_at_once(giving_back, waiting):
    assert giving_back(release_hosts=['x']).status_int == 409
    assert waiting.seconds == 0


def test_a_lease_that_is_deleted_meanwhile_is_not_changed(
    giving_back, member, waiting
):
    [lease] = member('GET', '/leases').json['leases']
    waiting.meanwhile = lambda: member('DELETE', f'/leases/{lease["id"]}')
    answer = giving_back(min=3, max=3)
    assert answer.status_int == 409
    assert 'DELETING' in answer.json['error_message']
    assert waiting.seconds == short_waits.FIRST_PAUSE
