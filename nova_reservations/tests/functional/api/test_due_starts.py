# SPDX-License-Identifier: Apache-2.0
"""Requests to Nova that name a lease which starts just now.

How long they wait is in ``tests/functional/engine/test_short_waits.py``.
Decision 0065: doc/source/decisions/0065-usable-when-answered
"""

import pytest

from nova_reservations.api.servers import gate
from nova_reservations.engine.leases import short_waits
from nova_reservations.tests.functional.api import conftest

TYPES = ['physical:host', 'virtual:instance']
SLOTS = {
    'resource_type': 'virtual:instance',
    'vcpus': 2,
    'memory_mb': 1024,
    'disk_gb': 10,
    'amount': 2,
    'affinity': None,
    'resource_properties': '',
}


@pytest.fixture
def settings(settings, waiting):
    settings.set_override('resource_types', TYPES, group='reservations')
    settings.set_override('api_threads', 4, group='reservations')
    return settings


@pytest.fixture(autouse=True)
def _hosts(enrolled):
    """All hosts are enrolled."""


def by_hint(reservation):
    return {
        'server': {'name': 'a', 'flavorRef': '1'},
        'os:scheduler_hints': {'reservation': reservation},
    }


def by_flavor(reservation):
    return {'server': {'name': 'a', 'flavorRef': reservation}}


def by_url_of_flavor(reservation):
    return by_flavor(f'http://nova/v2.1/flavors/{reservation}')


def lease_of(person, asked):
    changes = {} if asked is by_hint else {'reservations': [SLOTS]}
    [reservation] = person.lease(**changes)['reservations']
    return reservation['id']


ways = pytest.mark.parametrize('asked', [by_hint, by_flavor, by_url_of_flavor])


@ways
def test_a_request_that_names_a_lease_from_now_waits_for_its_start(
    member, workers, waiting, asked
):
    waiting.meanwhile = workers.work
    body = asked(lease_of(member, asked))
    assert member.send('POST', '/servers', body).status_int == 202
    assert waiting.seconds == short_waits.FIRST_PAUSE


@ways
def test_a_request_is_a_conflict_after_three_seconds(member, waiting, asked):
    answer = member.send('POST', '/servers', asked(lease_of(member, asked)))
    assert answer.status_int == 409
    assert 'PENDING' in answer.json['conflictingRequest']['message']
    assert waiting.seconds == pytest.approx(short_waits.LONGEST)


@pytest.mark.parametrize('asked', [by_hint, by_flavor])
def test_a_lease_that_starts_later_is_a_conflict_at_once(
    member, waiting, asked
):
    changes = {'start_date': '2030-05-17 12:00', 'duration': '1h'}
    if asked is by_flavor:
        changes['reservations'] = [SLOTS]
    [reservation] = member.lease(**changes)['reservations']
    answer = member.send('POST', '/servers', asked(reservation['id']))
    assert answer.status_int == 409
    assert waiting.seconds == 0


@ways
def test_nobody_waits_for_the_lease_of_others(
    member, stranger, waiting, asked
):
    answer = stranger.send('POST', '/servers', asked(lease_of(member, asked)))
    # Nova itself knows no such flavor.
    assert answer.status_int == (404 if asked is by_hint else 202)
    assert waiting.seconds == 0


@ways
def test_a_reader_who_may_not_create_servers_does_not_wait(
    app, member, behind, waiting, asked
):
    body = asked(lease_of(member, asked))
    reader = conftest.Person(app, 'ours', 'reader')
    assert reader.send('POST', '/servers', body).text == 'nova'
    assert waiting.seconds == 0


def test_the_flavor_of_hosts_is_left_to_nova(member, waiting):
    body = by_flavor(lease_of(member, by_hint))
    assert member.send('POST', '/servers', body).text == 'nova'
    assert waiting.seconds == 0


@ways
def test_a_lease_that_starts_just_after_the_refusal_is_had(
    member, workers, waiting, monkeypatch, asked
):
    may_create = gate._may_create

    def started(context):
        workers.work()
        return may_create(context)

    body = asked(lease_of(member, asked))
    monkeypatch.setattr(gate, '_may_create', started)
    assert member.send('POST', '/servers', body).status_int == 202
    assert waiting.seconds == 0
