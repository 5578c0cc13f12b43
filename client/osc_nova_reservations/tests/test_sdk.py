# SPDX-License-Identifier: Apache-2.0
"""``conn.reservation`` of openstacksdk, on an API in memory."""

import http
import json
import pathlib

import openstack
from openstack import exceptions
import pytest

from osc_nova_reservations import sdk
from osc_nova_reservations.sdk import lease as sdk_lease
from osc_nova_reservations.sdk import proxy

HOSTS = {'resource_type': 'physical:host', 'min': 1, 'max': 1}
WANTED = {'name': 'mine', 'start_date': 'now', 'reservations': [HOSTS]}
CLOUDS = """
clouds:
  mycloud:
    auth_type: admin_token
    auth: {endpoint: "http://api/v2.1", token: secret}
    vendor_hook: osc_nova_reservations.sdk:install
"""


@pytest.fixture
def conn(instance):
    sdk.install(instance.sdk_connection)
    return instance.sdk_connection


def test_a_file_of_clouds_puts_it_in(tmp_path, monkeypatch):
    file = tmp_path / 'clouds.yaml'
    file.write_text(CLOUDS)
    monkeypatch.setenv('OS_CLIENT_CONFIG_FILE', str(file))
    conn = openstack.connect(cloud='mycloud')
    assert isinstance(conn.reservation, proxy.Proxy)


def test_leases_are_made_found_changed_and_deleted(conn, api):
    made = conn.reservation.create_lease(**WANTED, duration='PT2H')
    assert isinstance(made, sdk_lease.Lease)
    assert made.reservations == [HOSTS]
    assert conn.reservation.find_lease('mine').id == made.id
    assert conn.reservation.get_lease(made.id).name == 'mine'
    changed = conn.reservation.update_lease(made, name='yours')
    assert (changed.id, changed.name) == (made.id, 'yours')
    assert [each.name for each in conn.reservation.leases()] == ['yours']
    conn.reservation.delete_lease(made)
    assert not api.leases
    assert conn.reservation.find_lease('mine') is None


def test_a_dry_run_makes_nothing(conn, api):
    conn.reservation.create_lease(**WANTED, dry_run=True)
    assert not api.leases


def test_a_key_is_sent_by_which_a_request_may_be_repeated(conn, api):
    conn.reservation.create_lease(**WANTED, idempotency_key='mine')
    assert api.keys == ['mine']


def test_a_series_has_its_leases_and_what_was_refused(conn, api):
    repeat = {'every': 'P1W', 'count': 3, 'partial': True}
    made = conn.reservation.create_series(**WANTED, repeat=repeat)
    assert [each.id for each in made.leases] == [*api.leases]
    assert [each['reason'] for each in made.refused] == ['it is full']
    found = conn.reservation.get_series(made.id)
    assert [each.name for each in found.leases] == ['mine', 'mine']
    assert conn.reservation.delete_series(made) == []
    assert not api.leases


def test_leases_and_series_are_shared(conn, api):
    lease = api.add(name='mine')
    conn.reservation.share_lease(lease['id'], ['p', 'q'])
    conn.reservation.unshare_lease(lease['id'], ['q'], reservation_id='r')
    conn.reservation.share_series('s', ['p'])
    conn.reservation.unshare_series('s', ['p'])
    assert api.actions == [
        {'addProjectAccess': {'projects': ['p', 'q']}},
        {'removeProjectAccess': {'projects': ['q'], 'reservation_id': 'r'}},
        {'addProjectAccess': {'projects': ['p']}},
        {'removeProjectAccess': {'projects': ['p']}},
    ]


def test_offers_are_windows(conn, api):
    window = {
        'start_date': '2040-01-02T10:00:00.000000',
        'end_date': '2040-01-02T12:00:00.000000',
    }
    api.offers = [window]
    [offer] = conn.reservation.lease_offers(
        duration='PT2H', reservations=[HOSTS]
    )
    assert offer.start_date == window['start_date']


@pytest.mark.parametrize(
    ('status', 'kind'),
    [
        (http.HTTPStatus.BAD_REQUEST, exceptions.BadRequestException),
        (http.HTTPStatus.FORBIDDEN, exceptions.ForbiddenException),
        (http.HTTPStatus.NOT_FOUND, exceptions.NotFoundException),
        (http.HTTPStatus.CONFLICT, exceptions.ConflictException),
    ],
)
def test_a_refusal_has_the_message_of_the_api(conn, api, status, kind):
    body = json.dumps({'error_message': 'Not enough hosts available'})
    api.refusal = status, body.encode()
    with pytest.raises(kind, match=r'^Not enough hosts available'):
        conn.reservation.create_lease(**WANTED)


def test_a_name_of_several_leases_is_refused(conn, api):
    for _ in range(2):
        api.add(name='mine')
    with pytest.raises(exceptions.DuplicateResource):
        conn.reservation.find_lease('mine')


def test_a_lease_is_waited_for_until_it_is_over(conn, api):
    lease = api.add(name='mine')
    lease['status'] = 'ACTIVE'
    found = conn.reservation.get_lease(lease['id'])
    assert conn.reservation.wait_for_lease(found).status == 'ACTIVE'
    lease['status'] = 'ERROR'
    found.status = 'PENDING'
    with pytest.raises(exceptions.ResourceFailure):
        conn.reservation.wait_for_lease(found, interval=0.01)


def test_the_documented_program_does_what_it_says():
    page = pathlib.Path(__file__).parents[3] / 'doc/source/user/tools.rst'
    shown = page.read_text()
    for name in ('create_lease', 'wait_for_lease', 'leases', 'update_lease'):
        assert f'conn.reservation.{name}' in shown
        assert hasattr(proxy.Proxy, name)
