# SPDX-License-Identifier: Apache-2.0
import json
import threading

from nova import policy as nova_policy
import nova.conf
from oslo_config import fixture
import pytest

from nova_reservations import bootstrap
from nova_reservations import conf
from nova_reservations import exception
from nova_reservations import policies
from nova_reservations.api import middleware
from nova_reservations.tests.functional.api import conftest

UNKNOWN = 'fb5ec2d1-1e3a-4a3f-8b6e-3a1f0a9f2f70'
CREATES = [
    '/servers',
    '/os-volumes_boot',
    '/0123abc/servers',
    '/0123abc/os-volumes_boot',
]


@pytest.fixture
def active(member, workers, enrolled):
    """The id of a reservation of an active lease of our project."""
    lease = member.lease()
    workers.work()
    return lease['reservations'][0]['id']


def boot(
    person,
    reservation,
    path='/servers',
    method='POST',
    key='os:scheduler_hints',
    **options,
):
    return person.send(
        method,
        path,
        {'server': {'name': 'a'}, key: {'reservation': reservation}},
        **options,
    )


def test_a_request_that_is_none_of_ours_reaches_nova_as_it_is(member, behind):
    body = b'{"server": {"name": "a"}} '
    answer = member.send('POST', '/servers', POST=body)
    assert (answer.status_int, answer.text) == (202, 'nova')
    assert behind.bodies == [body]


@pytest.mark.parametrize(
    'body',
    [
        b'',
        b'reservation scheduler_hints',
        b'{"os:scheduler_hints": {"reser',
        b'\xff scheduler_hints reservation',
        b'["\\u0000"]',
        b'[' * 100000 + b'\\u scheduler_hints reservation',
    ],
)
def test_bodies_that_nova_refuses_anyway_are_left_to_nova(
    member, behind, body
):
    assert member.send('POST', '/servers', POST=body).status_int == 202
    assert behind.bodies == [body]


@pytest.mark.parametrize('mount', ['/v2', '/v2.1'])
@pytest.mark.parametrize('path', CREATES)
@pytest.mark.parametrize(
    'key', ['os:scheduler_hints', 'OS-SCH-HNT:scheduler_hints']
)
def test_an_unknown_reservation_is_refused_at_every_way_to_create(
    member, behind, mount, path, key
):
    answer = boot(member, UNKNOWN, path, mount=mount, key=key)
    assert answer.status_int == 404
    assert UNKNOWN in answer.json['itemNotFound']['message']
    assert behind.bodies == []


@pytest.mark.parametrize(
    'options',
    [
        {'content_type': 'application/vnd.openstack.compute+json'},
        {'content_type': ''},
        {'content_type': 'text/plain'},
    ],
)
def test_whatever_the_content_type_the_hint_is_checked(member, options):
    body = json.dumps({'os:scheduler_hints': {'reservation': UNKNOWN}})
    assert (
        member.send(
            'POST', '/servers', POST=body.encode(), **options
        ).status_int
        == 404
    )


def test_escapes_do_not_hide_a_hint(member):
    body = (
        f'{{"os:scheduler\\u005fhints": {{"reser\\u0076ation": "{UNKNOWN}"}}}}'
    )
    assert (
        member.send('POST', '/servers', POST=body.encode()).status_int == 404
    )


def test_a_put_that_novas_router_takes_for_a_post_is_checked(member):
    assert (
        boot(member, UNKNOWN, '/servers?_method=POST', method='PUT').status_int
        == 404
    )


def test_a_body_of_unknown_length_is_checked(member):
    body = json.dumps(
        {'os:scheduler_hints': {'reservation': UNKNOWN}}
    ).encode()
    answer = member.send(
        'POST',
        '/servers',
        POST=body,
        environ={
            'wsgi.input_terminated': True,
            'HTTP_TRANSFER_ENCODING': 'chunked',
        },
    )
    assert answer.status_int == 404


@pytest.mark.parametrize('value', [{}, None, 7, ' x', [], [UNKNOWN] * 2])
def test_a_malformed_hint_is_refused(member, behind, value):
    answer = boot(member, value)
    assert answer.status_int == 400
    assert 'reservation' in answer.json['badRequest']['message']
    assert behind.bodies == []


def test_two_reservations_at_once_are_refused(member, active):
    answer = member.send(
        'POST',
        '/servers',
        {
            'os:scheduler_hints': {'reservation': active},
            'OS-SCH-HNT:scheduler_hints': {'reservation': active},
        },
    )
    assert answer.status_int == 400


def test_the_lessee_may_boot_while_the_lease_is_active(member, behind, active):
    assert boot(member, active).status_int == 202
    assert boot(member, [active]).status_int == 202
    assert json.loads(behind.bodies[0])['os:scheduler_hints'] == {
        'reservation': active
    }


def test_another_projects_reservation_does_not_exist(stranger, admin, active):
    assert boot(stranger, active).status_int == 404
    assert boot(admin, active).status_int == 404


def test_a_lease_that_has_not_begun_or_is_over_is_a_conflict(
    member, workers, enrolled
):
    lease = member.lease()
    [reservation] = lease['reservations']
    answer = boot(member, reservation['id'])
    assert answer.status_int == 409
    assert 'PENDING' in answer.json['conflictingRequest']['message']
    workers.work()
    member('PUT', f'/leases/{lease["id"]}', {'end_date': 'now'})
    workers.work(seconds=5)
    answer = boot(member, reservation['id'])
    assert answer.status_int == 409
    assert 'TERMINATED' in answer.json['conflictingRequest']['message']


def test_while_the_database_is_down_clients_are_told_to_come_back(
    behind, unreachable
):
    app = middleware.Reservations(behind, unreachable)
    member = conftest.Person(app, 'ours', 'member', 'reader')
    for answer in (
        member('GET', '/leases'),
        member('DELETE', f'/leases/{UNKNOWN}'),
        boot(member, UNKNOWN),
    ):
        assert answer.status_int == 503
        assert answer.headers['Retry-After'] == '5'
    assert boot(member, UNKNOWN, key='moon').status_int == 202


def test_the_services_are_built_once_and_not_before_they_are_needed(
    behind, services, monkeypatch
):
    built = []
    monkeypatch.setattr(
        bootstrap, 'build', lambda _: (built.append(services), services)[1]
    )
    app = middleware.Reservations(behind)
    assert built == []
    threads = [threading.Thread(target=app.services) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(built) == 1


@pytest.mark.parametrize(
    ('option', 'failure'),
    [
        ('resource_types', exception.UnknownResourceType),
        ('before_end_actions', exception.UnknownEventAction),
    ],
)
def test_a_plugin_that_is_not_installed_stops_nova_api_at_its_start(
    behind, option, failure
):
    conf.register_opts(nova.conf.CONF)
    with fixture.Config(nova.conf.CONF) as options:
        options.config(group='reservations', **{option: ['typo']})
        with pytest.raises(
            failure, match=f'{option}.* names typo: no installed'
        ):
            middleware.Reservations(behind)


def test_the_rules_are_in_novas_enforcer_before_and_after_a_reset(app):
    names = {rule.name for rule in policies.list_rules()}
    nova_policy.init()
    assert names <= set(nova_policy._ENFORCER.registered_rules)
    nova_policy.reset()
    nova_policy.init()
    assert names <= set(nova_policy._ENFORCER.registered_rules)
