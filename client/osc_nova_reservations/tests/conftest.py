# SPDX-License-Identifier: Apache-2.0
"""Fixtures: an API in memory, and commands that are run on it."""

from collections.abc import Callable
import io
import types
from typing import Any

from cliff import columns
from cliff import lister
from cliff import show
from keystoneauth1 import noauth
from keystoneauth1 import session
from openstack import connection
from openstack.config import cloud_region
import pytest
import requests
import tzlocal

from osc_nova_reservations import dates
from osc_nova_reservations import errors
from osc_nova_reservations import plugin
from osc_nova_reservations.tests import fake_api
from osc_nova_reservations.tests import identity as fake_identity

COMPUTE = 'http://api/v2.1'


class Auth(noauth.NoAuth):
    """Credentials whose catalog can be written."""

    def __init__(self, catalog: dict[str, str]) -> None:
        super().__init__()
        self.catalog = catalog

    def get_endpoint(self, session: Any, **asked: Any) -> str | None:
        assert asked['interface'] == 'public'
        assert asked['region_name'] == 'RegionOne'
        return self.catalog.get(asked['service_type'])


class Instance:
    """The object that python-openstackclient passes to a plugin.

    :ivar catalog: the endpoint of each service type
    """

    def __init__(self, api: fake_api.FakeApi, catalog: dict[str, str]) -> None:
        transport = requests.Session()
        transport.mount('http://', api)
        self.catalog = catalog
        self.session = session.Session(auth=Auth(catalog), session=transport)
        self.sdk_connection = connection.Connection(
            config=cloud_region.from_session(
                self.session, name='test', region_name='RegionOne'
            )
        )


@pytest.fixture
def api() -> fake_api.FakeApi:
    return fake_api.FakeApi()


@pytest.fixture
def instance(api: fake_api.FakeApi) -> Instance:
    return Instance(api, {'compute': COMPUTE})


@pytest.fixture
def stderr() -> io.StringIO:
    """Everything that commands print beside their result."""
    return io.StringIO()


@pytest.fixture
def stdout() -> io.StringIO:
    """Everything that commands print themselves, not by cliff."""
    return io.StringIO()


@pytest.fixture
def manager(instance: Instance) -> types.SimpleNamespace:
    """The clients that commands share."""
    return types.SimpleNamespace(
        lease=plugin.make_client(instance),
        sdk_connection=instance.sdk_connection,
        auth_ref=types.SimpleNamespace(
            project_id=fake_api.PROJECT, project_name='demo', user_id='u'
        ),
    )


@pytest.fixture
def identity(
    manager: types.SimpleNamespace,
) -> fake_identity.Identity:
    """A keystone, which commands ask for projects."""
    identity = fake_identity.Identity()
    manager.sdk_connection = types.SimpleNamespace(identity=identity)
    return identity


@pytest.fixture(autouse=True)
def zone(monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine is in UTC, and it is noon of a Wednesday."""
    monkeypatch.setattr(tzlocal, 'get_localzone_name', lambda: 'UTC')
    monkeypatch.setattr(dates, 'now', lambda: fake_api.NOW)


@pytest.fixture
def app(
    manager: types.SimpleNamespace, stderr: io.StringIO, stdout: io.StringIO
) -> types.SimpleNamespace:
    """The program that runs commands."""
    return types.SimpleNamespace(
        client_manager=manager, options=None, stderr=stderr, stdout=stdout
    )


@pytest.fixture
def command_line(app: types.SimpleNamespace) -> Callable[..., None]:
    """Run a command as the program does, with what it prints."""

    def command_line(command: Any, *words: str) -> None:
        called = command(app, None)
        called.run(called.get_parser('openstack lease').parse_args(words))

    return command_line


@pytest.fixture
def run(app: types.SimpleNamespace) -> Callable[..., Any]:
    """Run a command; return its result as column -> value, or a list of such
    rows."""

    def run(command: Any, *words: str) -> Any:
        called = command(app, None)
        parser = called.get_parser('openstack lease')
        if isinstance(called, lister.Lister | show.ShowOne):
            words = ('-f', 'json', *words)
        parsed = parser.parse_args(words)
        with errors.told():
            result = called.take_action(parsed)
        if result is None:
            return None
        titles, values = result
        if isinstance(called, show.ShowOne):
            return dict(zip(titles, map(_plain, values), strict=True))
        return [
            dict(zip(titles, map(_plain, row), strict=True)) for row in values
        ]

    return run


def _plain(value: Any) -> Any:
    if isinstance(value, columns.FormattableColumn):
        return value.machine_readable()
    return value
