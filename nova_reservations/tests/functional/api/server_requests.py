# SPDX-License-Identifier: Apache-2.0
"""Requests for servers with the hint lease_params, and a stand-in for Nova
that makes servers."""

import json
import uuid

import webob

from nova_reservations import ports
from nova_reservations.api.servers import create

KEYS = ('os:scheduler_hints', 'OS-SCH-HNT:scheduler_hints')


class Nova:
    """:ivar status: the status of its answer.

    :ivar meanwhile: called during a request, before servers are made.
    :ivar fails: an exception that is raised after servers are made.
    :ivar forgets: whether servers exist although the request fails.
    """

    def __init__(self, cloud):
        self.cloud = cloud
        self.bodies = []
        self.made = []
        self.status = '202 Accepted'
        self.meanwhile = lambda: None
        self.fails = None
        self.forgets = False

    def __call__(self, environ, start_response):
        body = webob.Request(environ).json
        self.bodies.append(body)
        self.meanwhile()
        if self.status[0] == '2' or self.fails or self.forgets:
            for _ in range(body['server'].get('min_count', 1)):
                self._make(environ['nova.context'].project_id)
        if self.fails:
            raise self.fails
        start_response(self.status, [('Content-Type', 'text/plain')])
        return [b'nova']

    def _make(self, project_id):
        server = str(uuid.uuid4())
        create.announce(server)
        self.made.append(server)
        if self.fails is None or self.forgets:
            self.cloud.instances[server] = ports.Server(
                server, project_id, 'h1', 'active'
            )


def text(**changes):
    params = {'name': 'mine', 'start': 'now', 'end': '2030-05-17 12:00'}
    return json.dumps(
        {k: v for k, v in (params | changes).items() if v is not ...}
    )


def boot(person, params=None, key=KEYS[0], path='/servers', **options):
    server = options.pop('server', {})
    hints = options.pop('hints', {})
    return person.send(
        'POST',
        path,
        {
            'server': {'name': 'a', **server},
            key: {'lease_params': text() if params is None else params}
            | hints,
        },
        **options,
    )


def leases(person):
    return person('GET', '/leases').json['leases']


def only_lease(person):
    [lease] = leases(person)
    return lease


def reason(answer):
    [fault] = answer.json.values()
    return fault['message']
