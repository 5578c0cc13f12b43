# SPDX-License-Identifier: Apache-2.0
"""Fixtures: an API in memory, and commands that are run on it."""

from collections.abc import Callable
import io
import types
from typing import Any

from keystoneauth1 import noauth
from keystoneauth1 import session
from osc_lib.cli import format_columns
import pytest
import requests

from osc_nova_reservations import plugin
from osc_nova_reservations.tests import fake_api

COMPUTE = 'http://api/v2.1'


class Instance:
    """The object that python-openstackclient passes to a plugin.

    :ivar catalog: the endpoint of each service type
    """

    interface = 'public'
    region_name = 'RegionOne'

    def __init__(self, api: fake_api.FakeApi, catalog: dict[str, str]) -> None:
        transport = requests.Session()
        transport.mount('http://', api)
        self.session = session.Session(auth=noauth.NoAuth(), session=transport)
        self.catalog = catalog

    def get_endpoint_for_service_type(
        self, service_type: str, interface: str, region_name: str
    ) -> str | None:
        assert (interface, region_name) == (self.interface, self.region_name)
        return self.catalog.get(service_type)


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
    return types.SimpleNamespace(lease=plugin.make_client(instance))


@pytest.fixture
def run(
    manager: types.SimpleNamespace, stderr: io.StringIO, stdout: io.StringIO
) -> Callable[..., Any]:
    """Run a command; return its result as column -> value, or a list of such
    rows."""
    app = types.SimpleNamespace(
        client_manager=manager, options=None, stderr=stderr, stdout=stdout
    )

    def run(command: Any, *words: str) -> Any:
        called = command(app, None)
        parser = called.get_parser('openstack lease')
        result = called.take_action(parser.parse_args(words))
        if result is None:
            return None
        columns, values = result
        if isinstance(values, list):
            return dict(zip(columns, map(_plain, values), strict=True))
        return [dict(zip(columns, row, strict=True)) for row in values]

    return run


def _plain(value: Any) -> Any:
    if isinstance(value, format_columns.ListDictColumn):
        return value.machine_readable()
    return value
