# SPDX-License-Identifier: Apache-2.0
"""Any token with the UUID of a foreign server was told the server's compute
host, its lease, and which hosts are in the pool. We judged moves before Nova's
own policy, and before Nova looked up the owner of the server. Issue 13, item
8.
"""

import datetime
import json
import uuid

from nova.api import wsgi
import nova.conf
import webob

from nova_reservations import objects
from nova_reservations.tests.functional.nova import base
from nova_reservations.tests.functional.nova import test_instances

CONF = nova.conf.CONF

MISSING = str(uuid.UUID(int=7))
UNLIKE = frozenset({'x-openstack-request-id', 'x-compute-request-id', 'date'})
"""Headers that differ in each answer."""

LIVE = {'block_migration': 'auto'}
OLD_LIVE = {'block_migration': False, 'disk_over_commit': False}


def moves(host):
    """Return microversion and body of each action that names a host."""
    return [
        ('2.1', {'os-migrateLive': {'host': host, **OLD_LIVE}}),
        ('2.30', {'os-migrateLive': {'host': host, **LIVE, 'force': True}}),
        ('2.67', {'os-migrateLive': {'host': host, **LIVE, 'force': True}}),
        ('2.68', {'os-migrateLive': {'host': host, **LIVE}}),
        ('2.1', {'evacuate': {'host': host, 'onSharedStorage': 'False'}}),
        ('2.28', {'evacuate': {'host': host}}),
        ('2.67', {'evacuate': {'host': host, 'force': True}}),
        ('2.95', {'evacuate': {'host': host}}),
        ('2.56', {'migrate': {'host': host}}),
    ]


class StrangersTest(test_instances.InstancesTestCase):
    def _install(self, directory):
        super()._install(directory)
        types = [*CONF.reservations.resource_types, objects.SERVER]
        self.flags(resource_types=types, group='reservations')

    def setUp(self):
        super().setUp()
        self.enrol('host1', 'host2')
        self.hosts_lease = self.lease(1)
        self.slots_lease = self.slots(1)
        self.leased = self.boot(self.hosts_lease)['id']
        self.ordinary = self.boot()['id']
        self.without_us = wsgi.Loader(str(base.PASTE)).load_app(
            'osapi_compute'
        )

    def ask(
        self,
        path,
        body=None,
        *,
        method='POST',
        microversion='2.1',
        roles='member,reader',
        project_id=base.OTHERS,
        app=None,
    ):
        """Send a stranger's request; return status, headers and text."""
        request = webob.Request.blank(
            f'/v2.1{path}',
            method=method,
            headers={
                'X-Auth-User': 'stranger',
                'X-Auth-Project-Id': project_id,
                'X-Roles': roles,
                'OpenStack-API-Version': f'compute {microversion}',
            },
        )
        if body is not None:
            request.content_type = 'application/json'
            request.body = json.dumps(body).encode()
        answer = request.get_response(app or self.api_fixture.app())
        headers = {
            name: value
            for name, value in answer.headers.items()
            if name.lower() not in UNLIKE
        }
        return answer.status_int, headers, answer.text

    def assert_as_by_nova(self, path, body, **asked):
        ours = self.ask(path, body, **asked)
        self.assertEqual(
            self.ask(path, body, app=self.without_us, **asked), ours, body
        )
        self.assertGreaterEqual(ours[0], 400)
        self.assertLess(ours[0], 500)

    def assert_as_if_missing(self, path, body, known, **asked):
        """Check that an existing id is answered like an id that nothing
        has."""

        def answer(given):
            status, headers, text = self.ask(
                path.replace(known, given),
                json.loads(json.dumps(body).replace(known, given)),
                **asked,
            )
            headers.pop('Content-Length', None)
            return status, headers, text.replace(given, 'ID')

        found = answer(known)
        self.assertEqual(answer(MISSING), found)
        self.assertGreaterEqual(found[0], 400)
        self.assertLess(found[0], 500)

    def test_moves_of_foreign_servers_are_answered_by_nova_alone(self):
        for server in (self.leased, self.ordinary, MISSING, 'x'):
            for host in ('host1', 'host3', 'nowhere'):
                for microversion, body in moves(host):
                    for roles in ('member,reader', 'manager,member,reader'):
                        self.assert_as_by_nova(
                            f'/servers/{server}/action',
                            body,
                            microversion=microversion,
                            roles=roles,
                        )

    def test_moves_that_policy_refuses_are_answered_by_nova_alone(self):
        for server in (self.leased, self.ordinary):
            for microversion, body in moves('host1'):
                self.assert_as_by_nova(
                    f'/servers/{server}/action',
                    body,
                    microversion=microversion,
                    project_id=base.MINE,
                )

    def test_resizes_of_foreign_servers_are_answered_by_nova_alone(self):
        for flavor in (self.id_of(self.slots_lease), '2', MISSING):
            for server in (self.leased, self.ordinary, MISSING):
                self.assert_as_by_nova(
                    f'/servers/{server}/action',
                    {'resize': {'flavorRef': flavor}},
                )

    def test_a_flavor_of_others_is_not_there(self):
        flavor = self.id_of(self.slots_lease)
        own = self.boot(api=self.others_api)
        path = f'/servers/{own["id"]}/action'
        body = {'resize': {'flavorRef': flavor}}
        self.assert_as_if_missing(path, body, flavor)
        # The answer is the same when the server's state would make Nova
        # refuse.
        self.ask(path, {'pause': None})
        self._wait_for_state_change(own, 'PAUSED')
        self.assert_as_if_missing(path, body, flavor)

    def test_servers_do_not_ask_for_what_others_have(self):
        server = self._build_server(networks='none', flavor_id='1')
        for known in (
            self.hosts_lease.id,
            self.hosts_lease.reservations[0].id,
            self.id_of(self.slots_lease),
        ):
            body = {
                'server': server,
                'os:scheduler_hints': {'reservation': known},
            }
            for roles in ('member,reader', 'reader', 'nothing'):
                self.assert_as_if_missing('/servers', body, known, roles=roles)
            for hints in ({}, {'lease_params': self._params()}):
                self.assert_as_if_missing(
                    '/servers',
                    {
                        'server': {**server, 'flavorRef': known},
                        'os:scheduler_hints': hints,
                    },
                    known,
                )

    def _params(self):
        end = self.now + datetime.timedelta(hours=1)
        return json.dumps(
            {'name': 'mine', 'start': 'now', 'end': f'{end:%Y-%m-%d %H:%M}'}
        )

    def test_a_person_who_may_not_create_servers_learns_nothing_of_leases(
        self,
    ):
        server = self._build_server(networks='none', flavor_id='1')
        for known in (self.hosts_lease.reservations[0].id, MISSING):
            self.assert_as_by_nova(
                '/servers',
                {
                    'server': server,
                    'os:scheduler_hints': {'reservation': known},
                },
                roles='nothing',
                project_id=base.MINE,
            )

    def test_a_lease_of_others_is_not_there(self):
        lease = self.hosts_lease
        path = f'/os-reservations/v1/leases/{lease.id}'
        for method, body in (
            ('GET', None),
            ('PUT', {'name': 'mine'}),
            ('PUT', {'reservations': [{'id': lease.reservations[0].id}]}),
            ('DELETE', None),
        ):
            for roles in ('member,reader', 'nothing'):
                self.assert_as_if_missing(
                    path, body, lease.id, method=method, roles=roles
                )
