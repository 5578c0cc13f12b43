# SPDX-License-Identifier: Apache-2.0
"""Our part of the API, on a real database, in front of a stand-in for Nova.

Every answer of the lease API is checked against its OpenAPI document.
"""

from collections.abc import Callable
from collections.abc import Iterator
import datetime
import functools
import logging
import pathlib
import re
import threading
from typing import Any
from wsgiref import simple_server

import jsonschema
from nova import context
from nova import policy as nova_policy
import nova.conf
from nova.tests import fixtures as nova_fixtures
from openstackclient import shell
from osc_lib import clientmanager
from oslo_config import cfg
import pytest
import webob

from nova_reservations import bootstrap
from nova_reservations import conf
from nova_reservations import objects
from nova_reservations.api import middleware
from nova_reservations.api import openapi
from nova_reservations.api import routes
from nova_reservations.db import api
from nova_reservations.engine import assembly
from nova_reservations.policies import base as policies_base
from nova_reservations.policies import leases as policies
from nova_reservations.testing import fake_cloud
from nova_reservations.tests.examples.licences import licences
from nova_reservations.types.servers import host

HOSTS = ('h1', 'h2', 'h3')


class Clock:
    """The time of the databases, which passes on request only."""

    def __init__(self) -> None:
        self.now = datetime.datetime(
            2030, 5, 17, 10, 30, 25, tzinfo=datetime.UTC
        )

    def forward(self, **duration: float) -> None:
        self.now += datetime.timedelta(**duration)


class Nova:
    """Stands for Nova behind our filter, and accepts all requests."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []

    def __call__(self, environ: Any, start_response: Any) -> Any:
        self.bodies.append(webob.Request(environ).body)
        start_response('202 Accepted', [('Content-Type', 'text/plain')])
        return [b'nova']


class Person:
    """Somebody with a token, who sends requests."""

    def __init__(self, app: Any, project_id: str, *roles: str) -> None:
        self.app = app
        self.context = context.RequestContext(
            user_id=f'{project_id}-user', project_id=project_id, roles=roles
        )

    def send(
        self,
        method: str,
        path: str,
        body: Any = None,
        mount: str = '/v2.1',
        **options: Any,
    ) -> webob.Response:
        if body is not None:
            options['json'] = body
        request = webob.Request.blank(path, method=method, **options)
        request.script_name = mount
        request.environ['nova.context'] = self.context
        return request.get_response(self.app)

    def __call__(
        self, method: str, path: str, body: Any = None, **options: Any
    ) -> webob.Response:
        answer = self.send(
            method, f'/os-reservations/v1{path}', body, **options
        )
        check_shape(method, f'/v1{path.partition("?")[0]}', answer)
        return answer

    def wsgi(self, environ: Any, start_response: Any) -> Any:
        """A WSGI application whose clients all have this person's token."""
        environ['nova.context'] = self.context
        environ['SCRIPT_NAME'] = '/v2.1'
        environ['PATH_INFO'] = environ['PATH_INFO'].removeprefix('/v2.1')
        return self.app(environ, start_response)

    def lease(self, **changes: Any) -> dict[str, Any]:
        """Lease a host for an hour from now on, apart from the changes."""
        answer = self(
            'POST',
            '/leases',
            {
                'name': 'mine',
                'start_date': 'now',
                'duration': '1h',
                'reservations': [
                    {'resource_type': 'physical:host', 'min': 1, 'max': 1}
                ],
            }
            | changes,
        )
        assert answer.status_int == 201, answer.text
        return answer.json['lease']


@functools.cache
def document() -> dict[str, Any]:
    types = {objects.HOST: host.PhysicalHost}
    return openapi.document('', routes.ROUTES, types)


@functools.cache
def responses(method: str, path: str) -> dict[str, Any]:
    """Return the responses to a request in the document, by status."""
    for template, operations in document()['paths'].items():
        if re.fullmatch(re.sub('{.*?}', '[^/]+', template), path):
            return operations[method.lower()]['responses']
    raise AssertionError(f'{path} is not in the document')


@functools.cache
def validator(method: str, path: str, status: int) -> Any:
    """Return the validator of a body, or None if no body is allowed."""
    answer = responses(method, path)[str(status)]
    if '$ref' in answer:
        answer = document()['components']['responses'][str(status)]
    if 'content' not in answer:
        return None
    return jsonschema.Draft202012Validator(
        {
            **answer['content']['application/json']['schema'],
            'components': document()['components'],
        }
    )


def check_shape(method: str, path: str, answer: webob.Response) -> None:
    """Check an answer against the document of the API."""
    assert answer.headers['OpenStack-API-Version'] == 'reservation 1.0'
    assert answer.headers['Vary'] == 'OpenStack-API-Version'
    schema = validator(method, path, answer.status_int)
    if schema is None:
        assert answer.body == b''
        assert 'Content-Type' not in answer.headers
    else:
        assert answer.content_type == 'application/json'
        schema.validate(answer.json)


@pytest.fixture(autouse=True)
def _nova_conf() -> Iterator[None]:
    with nova_fixtures.ConfFixture(nova.conf.CONF):
        yield


@pytest.fixture
def cloud() -> fake_cloud.FakeCloud:
    return fake_cloud.FakeCloud(*HOSTS)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(api.Database, 'now', lambda _: clock.now)
    monkeypatch.setattr(bootstrap, 'own_time', lambda: clock.now)
    return clock


@pytest.fixture
def settings(database: api.Database) -> cfg.ConfigOpts:
    settings = cfg.ConfigOpts()
    conf.register_opts(settings)
    settings([])
    settings.set_override('connection', database.url, group='reservations')
    return settings


@pytest.fixture
def services(
    settings: cfg.ConfigOpts, cloud: fake_cloud.FakeCloud, clock: Clock
) -> Iterator[assembly.Services]:
    services = bootstrap.build(settings, nova=cloud, notify=lambda *_: None)
    yield services
    services.database.dispose()


class Workers:
    """Runs the work of the engine that is due, on request."""

    def __init__(self, worker: Any, clock: Clock) -> None:
        self.worker = worker
        self.clock = clock

    def work(self, seconds: int = 1) -> None:
        for _ in range(seconds):
            self.clock.forward(seconds=1)
            self.worker.tick(self.clock.now)
            self.worker.drain()


@pytest.fixture
def workers(
    settings: cfg.ConfigOpts, services: assembly.Services, clock: Clock
) -> Iterator[Workers]:
    worker = bootstrap.build_worker(settings, services)
    yield Workers(worker, clock)
    worker.stop()


@pytest.fixture
def unreachable(
    settings: cfg.ConfigOpts, cloud: fake_cloud.FakeCloud
) -> Iterator[assembly.Services]:
    """Services whose database does not answer."""
    settings.set_override(
        'connection',
        'mysql+pymysql://nobody@127.0.0.1:1/none',
        group='reservations',
    )
    services = bootstrap.build(settings, nova=cloud, notify=lambda *_: None)
    yield services
    services.database.dispose()


@pytest.fixture
def behind() -> Nova:
    return Nova()


@pytest.fixture
def licence_type(
    services: assembly.Services,
    settings: cfg.ConfigOpts,
    cloud: fake_cloud.FakeCloud,
    tmp_path: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[str]:
    """A type of resource of another package, as if it was installed, and
    switched on."""
    # The document is cached, and must not contain the type: so it comes first.
    document()
    kind = licences.Licence(cloud, settings)
    settings.set_override('folder', str(tmp_path), group='licences')
    types: Any = services.resources.types
    types[licences.NAME] = kind
    rule = policies_base.rule(
        policies.create_of(licences.NAME),
        f'rule:{policies.CREATE}',
        'Create a lease of licences.',
        ('POST', '/leases'),
    )
    monkeypatch.setattr(policies, 'RULES', [*policies.RULES, rule])
    nova_policy.reset()
    yield licences.NAME
    nova_policy.reset()


@pytest.fixture
def app(behind: Nova, services: assembly.Services) -> Any:
    return middleware.Reservations(behind, services)


@pytest.fixture
def admin(app: Any) -> Person:
    return Person(app, 'operators', 'admin', 'member', 'reader')


@pytest.fixture
def member(app: Any) -> Person:
    return Person(app, 'ours', 'member', 'reader')


@pytest.fixture
def reader(app: Any) -> Person:
    return Person(app, 'ours', 'reader')


@pytest.fixture
def stranger(app: Any) -> Person:
    return Person(app, 'theirs', 'member', 'reader')


@pytest.fixture
def nobody(app: Any) -> Person:
    """A user of our project without any role that counts."""
    return Person(app, 'ours', 'auditor')


@pytest.fixture
def enrolled(admin: Person) -> list[dict[str, Any]]:
    """All hosts of the cloud, enrolled."""
    return [
        admin('POST', '/os-hosts', {'name': name}).json['host']
        for name in HOSTS
    ]


class _Handler(simple_server.WSGIRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture
def serve():
    """Serve the API to clients that all have one person's token."""
    servers = []

    def begin(person):
        server = simple_server.make_server(
            '127.0.0.1', 0, person.wsgi, handler_class=_Handler
        )
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        servers.append((server, thread))
        return f'http://127.0.0.1:{server.server_port}/v2.1/os-reservations/v1'

    yield begin
    for server, thread in servers:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def openstack(serve, capfd, monkeypatch, clock):
    """Run `openstack ...` as a person; return what it prints."""
    # We import nothing of the client, which is a distribution of its own.
    monkeypatch.setattr('osc_nova_reservations.dates.now', lambda: clock.now)
    # A command runs in this process, since a new one takes seconds. A command
    # leaves log handlers and cached clients, which the next must not use.
    monkeypatch.setattr(logging.root, 'handlers', [])
    caches = [
        vars(clientmanager.ClientManager)[name]
        for name in ('reservation', 'lease')
    ]

    def build(person, noun='reservation'):
        options = [
            '--os-auth-type=admin_token',
            f'--os-endpoint={serve(person)}',
            '--os-token=token',
            noun,
        ]

        def run(*words):
            capfd.readouterr()
            for cache in caches:
                monkeypatch.setattr(cache, '_handle', None)
            try:
                failed = shell.OpenStackShell().run([*options, *words])
            except SystemExit as ended:
                # argparse exits if it does not understand the words.
                failed = ended.code
            printed = capfd.readouterr()
            return printed.err if failed else printed.out

        return run

    return build


class Waiting:
    """The time that requests wait, which passes only then.

    :ivar meanwhile: called instead of each pause."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.meanwhile: Callable[[], None] = lambda: None

    def monotonic(self) -> float:
        return self.seconds

    def sleep(self, seconds: float) -> None:
        self.seconds += seconds
        self.meanwhile()


@pytest.fixture
def waiting(monkeypatch: pytest.MonkeyPatch) -> Waiting:
    waiting = Waiting()
    monkeypatch.setattr(assembly, 'time', waiting)
    return waiting
