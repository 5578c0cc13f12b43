# SPDX-License-Identifier: Apache-2.0
"""Users of clients of Blazar are told why a lease can not be granted.

Each client is a row: how it reads a refusal, as its own code does. Of them
python-blazarclient is here itself, and Heat and python-chi are built on it.
"""

import functools
import re

from blazarclient import client
from blazarclient import exception
from keystoneauth1 import session
from keystoneauth1 import token_endpoint
import nova.conf
import pytest

from nova_reservations.tests.functional.api import test_offers

pytestmark = pytest.mark.usefixtures('enrolled')

REFUSALS = {
    'no_room': ({'reservations': test_offers.hosts(4)}, 'Not enough hosts'),
    'over_limit': ({'end': '2040-01-02 12:00'}, 'Over the limit: a duration'),
}
"""Kind -> what is asked for, and the begin of the reason."""


@pytest.fixture
def settings(settings):
    settings.set_override('max_lease_duration', 7200, group='reservations')
    return settings


@pytest.fixture
def distinct():
    nova.conf.CONF.set_override(
        'refusal_statuses', 'distinct', group='reservations'
    )


@pytest.fixture
def blazar(app, serve, member):
    plugin = token_endpoint.Token(serve(member), 'token')
    return client.Client('1', session=session.Session(auth=plugin))


def ask(client, **changes):
    return client.lease.create(
        **{
            'name': 'mine',
            'start': '2040-01-01 10:00',
            'end': '2040-01-01 12:00',
            'reservations': test_offers.hosts(1),
            'events': [],
        }
        | changes
    )


def blazarclient_reads(refusal):
    """It raises the text, whatever the status is."""
    return str(refusal).removeprefix('ERROR: ')


def heat_reads(refusal):
    """Its resource fails with the text of blazarclient, but what is not found
    counts as deleted."""
    return None if refusal.kwargs['code'] == 404 else str(refusal)


def python_chi_reads(refusal):
    """It looks for words in the text of blazarclient, or else logs it all."""
    found = re.search('not enough ([a-z]+) available', str(refusal).lower())
    return f'Not enough {found[1]}' if found else str(refusal)


def azimuth_reads(refusal):
    """Its schedule operator tells of these statuses; of others it tells
    nothing, and asks again."""
    return str(refusal) if refusal.kwargs['code'] in (400, 500) else None


READERS = (blazarclient_reads, heat_reads, python_chi_reads, azimuth_reads)


def refused(call):
    with pytest.raises(exception.BlazarClientException) as caught:
        call()
    return caught.value


@pytest.mark.parametrize('reads', READERS)
@pytest.mark.parametrize('kind', REFUSALS)
def test_a_user_is_told_why_there_is_no_lease(blazar, reads, kind):
    changes, reason = REFUSALS[kind]
    assert reason in reads(refused(functools.partial(ask, blazar, **changes)))


@pytest.mark.parametrize('reads', READERS)
@pytest.mark.parametrize('kind', REFUSALS)
def test_a_user_is_told_why_a_lease_stays_as_it_is(blazar, reads, kind):
    lease = ask(blazar)
    [reservation] = lease['reservations']
    changes, reason = {
        'no_room': (
            {'reservations': [{'id': reservation['id'], 'min': 4, 'max': 4}]},
            REFUSALS[kind][1],
        ),
        'over_limit': ({'prolong_for': '1d'}, REFUSALS[kind][1]),
    }[kind]
    refusal = refused(
        functools.partial(blazar.lease.update, lease['id'], **changes)
    )
    assert reason in reads(refusal)


@pytest.mark.parametrize(
    ('kind', 'status'), [('no_room', 409), ('over_limit', 403)]
)
@pytest.mark.usefixtures('distinct')
def test_clients_that_tell_them_apart_by_status_may_go_on(
    blazar, kind, status
):
    changes, reason = REFUSALS[kind]
    refusal = refused(functools.partial(ask, blazar, **changes))
    assert refusal.kwargs['code'] == status
    assert blazarclient_reads(refusal).startswith(reason)
    assert azimuth_reads(refusal) is None


@pytest.mark.parametrize('kind', REFUSALS)
@pytest.mark.parametrize('statuses', ['compatible', 'distinct'])
def test_programs_read_the_kind_whatever_the_status(member, kind, statuses):
    nova.conf.CONF.set_override(
        'refusal_statuses', statuses, group='reservations'
    )
    changes, _ = REFUSALS[kind]
    answer = member(
        'POST',
        '/leases',
        {
            'name': 'mine',
            'start_date': '2040-01-01 10:00',
            'end_date': changes.get('end', '2040-01-01 12:00'),
            'reservations': changes.get('reservations', test_offers.hosts(1)),
        },
    )
    assert answer.json['error_kind'] == kind
    assert answer.json['error_code'] == answer.status_int


def test_a_state_is_a_conflict_as_ever(blazar):
    lease = ask(blazar)
    changed = {
        'id': lease['reservations'][0]['id'],
        'resource_type': 'virtual:instance',
    }
    refusal = refused(
        functools.partial(
            blazar.lease.update, lease['id'], reservations=[changed]
        )
    )
    assert refusal.kwargs['code'] == 409
