# SPDX-License-Identifier: Apache-2.0
"""Magnum's API for tests, and a keystone that lets a user into projects."""

from collections.abc import Callable
from collections.abc import Iterator
import contextlib
import json
import threading
from typing import Any
from wsgiref import simple_server

TEMPLATE = {
    'uuid': 'the uuid of k8s',
    'name': 'k8s',
    'master_flavor_id': 'small',
    'flavor_id': 'big',
}


class Magnum:
    """:ivar clusters: (project, name) -> cluster.

    :ivar on_write: called before each write, with its name.
    :ivar url: the URL of the server, below which keystone and Magnum are.
    """

    def __init__(self) -> None:
        self.clusters: dict[tuple[str, str], dict[str, Any]] = {}
        self.on_write: Callable[[str], None] = lambda what: None
        self.silent = False
        self.url = ''

    def finish(self) -> None:
        """Finish the creation or deletion of all clusters."""
        for key, cluster in list(self.clusters.items()):
            if cluster['status'] == 'DELETE_IN_PROGRESS':
                del self.clusters[key]
            else:
                cluster['status'] = 'CREATE_COMPLETE'

    def __call__(self, environ: Any, start_response: Any) -> Any:
        size = int(environ.get('CONTENT_LENGTH') or 0)
        body = json.loads(environ['wsgi.input'].read(size) or '{}')
        token = environ.get('HTTP_X_AUTH_TOKEN')
        method = environ['REQUEST_METHOD']
        # The first part is keystone's version, or the root of Magnum.
        kind, *names = environ['PATH_INFO'].strip('/').split('/')[1:] or ['']
        headers = [('Content-Type', 'application/json')]
        if kind == 'auth':
            project = body['auth']['scope']['project']['id']
            headers.append(('X-Subject-Token', project))
            status, answer = '201 Created', self._token(project)
        elif self.silent:
            status, answer = '503 Service Unavailable', None
        else:
            status, answer = self._answer(method, kind, names, token, body)
        start_response(status, headers)
        return [json.dumps(answer).encode() if answer is not None else b'']

    def _token(self, project: str) -> Any:
        endpoint = {
            'interface': 'public',
            'region_id': 'here',
            'url': f'{self.url}/magnum',
        }
        service = {
            'type': 'container-infra',
            'name': 'magnum',
            'endpoints': [endpoint],
        }
        return {
            'token': {
                'expires_at': '2100-01-01T00:00:00Z',
                'project': {'id': project},
                'catalog': [service],
            }
        }

    def _answer(
        self, method: str, kind: str, names: list[str], token: Any, body: Any
    ) -> tuple[str, Any]:
        if kind == 'clustertemplates':
            known = names[0] in TEMPLATE.values()
            return ('200 OK', TEMPLATE) if known else ('404 Not Found', {})
        if not names and method != 'POST':
            return '404 Not Found', {}
        if method == 'POST':
            self.on_write('create')
            self.clusters[token, body['name']] = {
                **body,
                'uuid': f'of {body["name"]}',
                'status': 'CREATE_IN_PROGRESS',
                'status_reason': None,
            }
            return '202 Accepted', {}
        found = [
            cluster
            for (project, name), cluster in self.clusters.items()
            if project == token and names[0] in (name, cluster['uuid'])
        ]
        if not found:
            return '404 Not Found', {}
        if method == 'PATCH':
            self.on_write('resize')
            found[0]['node_count'] = body[0]['value']
        if method == 'DELETE':
            self.on_write('delete')
            found[0]['status'] = 'DELETE_IN_PROGRESS'
            return '204 No Content', None
        return '200 OK', found[0]


class _Handler(simple_server.WSGIRequestHandler):
    def log_message(self, *_: Any) -> None:
        pass


@contextlib.contextmanager
def served() -> Iterator[Magnum]:
    """Serve the API and the keystone on a port of their own."""
    magnum = Magnum()
    server = simple_server.make_server(
        '127.0.0.1', 0, magnum, handler_class=_Handler
    )
    magnum.url = f'http://127.0.0.1:{server.server_port}'
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield magnum
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
