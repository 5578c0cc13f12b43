# SPDX-License-Identifier: Apache-2.0
"""No call waits for ever for a peer that accepts it, and then says nothing."""

import ast
import pathlib
import socket

from keystoneauth1 import exceptions as ks_exc
from keystoneauth1 import loading
import nova.conf
import oslo_messaging
import pytest
import requests
import sqlalchemy as sa

import nova_reservations
from nova_reservations.cloud import time_limits
from nova_reservations.db import time_limits as connections
from nova_reservations.tests.unit import test_dependencies

CONF = nova.conf.CONF

NO_PATIENCE = 0.05

PACKAGE = pathlib.Path(nova_reservations.__file__).parent

LIMITED = {
    # By HTTPAdapter.send: keystoneauth, and all that is made of its sessions,
    # asks by requests.
    'keystoneauth1',
    'openstack',
    'oslo_limit',
    'requests',
    # By the event do_connect.
    'alembic',
    'oslo_db',
    'sqlalchemy',
    # By the parameter retry; answers have [DEFAULT] rpc_response_timeout.
    'oslo_messaging',
    'kombu',
    'amqp',
}
"""Imported packages that open connections, each with a limit."""

CALLS_NOBODY = {
    'dateutil',
    'debtcollector',
    'jsonschema',
    'microversion_parse',
    'msgpack',
    'os_resource_classes',
    'oslo_concurrency',
    'oslo_config',
    'oslo_log',
    'oslo_policy',
    'oslo_serialization',
    'oslo_service',
    'oslo_upgradecheck',
    'oslo_utils',
    'paste',
    'prettytable',
    'prometheus_client',
    'psutil',
    # By UDP, without an answer.
    'statsd',
    'stevedore',
    'tenacity',
    'uuid6',
    'webob',
    'wrapt',
    'yaml',
}
"""Imported packages that open none by themselves."""

BY_THEMSELVES = {
    # Each of these gives its call a time-out, or waits for no answer.
    'smtplib': {'plugins/event_actions/email.py'},
    'socket': {
        'bootstrap.py',
        'cloud/conductors.py',
        'compute/metrics/udp.py',
    },
}
"""Modules of Python that open connections -> the files that may import them.
"""

OF_PYTHON = {
    'asyncio',
    'ftplib',
    'http.client',
    'imaplib',
    'poplib',
    'smtplib',
    'socket',
    'telnetlib',
    'urllib.request',
    'xmlrpc.client',
}
"""Modules of Python that can open connections."""


@pytest.fixture
def silent():
    """The port of a server that accepts connections, and says nothing."""
    with socket.create_server(('127.0.0.1', 0)) as server:
        yield server.getsockname()[1]


@pytest.fixture(autouse=True)
def limits():
    time_limits.install()
    with time_limits.limited_to(NO_PATIENCE):
        yield


def groups_with_sessions():
    """Return the groups of nova.conf by which sessions are made."""
    options = {option.dest for option in loading.get_session_conf_options()}
    return [name for name, group in CONF.items() if _has(group, options)]


def _has(group, options):
    return hasattr(group, 'items') and options <= {*group}


@pytest.mark.parametrize('group', groups_with_sessions())
def test_a_silent_service_is_not_waited_for(silent, group):
    session = loading.load_session_from_conf_options(CONF, group)
    with pytest.raises(ks_exc.ConnectTimeout):
        session.get(f'http://127.0.0.1:{silent}')


def test_all_services_that_leases_need_are_among_them():
    assert {
        'cinder',
        'glance',
        'neutron',
        'placement',
        'service_user',
    } <= {*groups_with_sessions()}


def test_the_limit_of_an_operator_comes_first(monkeypatch):
    seen = []

    def send(adapter, request, **kwargs):
        seen.append(kwargs['timeout'])
        raise requests.ConnectionError

    for timeout in (None, 7.0):
        wrapped = send.__get__(object())
        with pytest.raises(requests.ConnectionError):
            time_limits._send(wrapped, None, (None,), {'timeout': timeout})
    assert seen == [NO_PATIENCE, 7.0]


def test_idle_connections_are_closed_once_a_call_took_too_long(silent):
    """They may be half open, too."""
    with requests.Session() as session:
        url = f'http://127.0.0.1:{silent}'
        idle = keep_idle(session.get_adapter(url), url)
        with pytest.raises(requests.Timeout):
            session.get(url)
        assert idle.sock is None


def keep_idle(adapter, url):
    """Return a connection that the adapter has opened, and uses no more."""
    pool = adapter.poolmanager.connection_from_url(url)
    connection = pool._get_conn()
    connection.connect()
    pool._put_conn(connection)
    return connection


def connect(dialect, options):
    connections.connect(
        lambda: time_limits._seconds, dialect, None, [], options
    )


def test_the_limits_in_a_url_come_first():
    dialect = sa.create_engine('mysql+pymysql://').dialect
    options = {'read_timeout': 7}
    connections.connect(
        lambda: time_limits._seconds, dialect, None, [], options
    )
    assert options == {
        'connect_timeout': NO_PATIENCE,
        'read_timeout': 7,
        'write_timeout': NO_PATIENCE,
    }


def test_a_statement_may_take_long_where_limits_are_lifted():
    dialect = sa.create_engine('mysql+pymysql://').dialect
    options = {}
    with time_limits.limited_to(None):
        connections.connect(
            lambda: time_limits._seconds, dialect, None, [], options
        )
    assert options == {}


def test_a_message_is_tried_so_often_and_no_more():
    made = [
        time_limits._client(lambda **kwargs: kwargs, None, (), {'retry': wish})
        for wish in (None, 0)
    ]
    assert made == [{'retry': time_limits.BUS_RETRIES}, {'retry': 0}]
    assert callable(oslo_messaging.get_rpc_client)


def test_a_package_that_opens_connections_has_a_limit():
    """A new one needs a limit of its own, or has it by one of these."""
    ours = {'nova', *LIMITED, *CALLS_NOBODY}
    assert test_dependencies.imported() - ours == set()


def test_a_module_that_opens_connections_gives_its_own_limit():
    found = {}
    for path in PACKAGE.rglob('*.py'):
        name = path.relative_to(PACKAGE).as_posix()
        if name.startswith(('tests/', 'testing/')):
            continue
        for module in modules(path) & OF_PYTHON:
            found.setdefault(module, set()).add(name)
    assert found == BY_THEMSELVES


def modules(path):
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {node.module}
            found |= {f'{node.module}.{each.name}' for each in node.names}
    return found


@pytest.mark.parametrize(
    'file', ['api/middleware.py', 'cmd/process.py', 'scheduler/host_filter.py']
)
def test_the_processes_in_which_leases_are_worked_on_set_the_limits(file):
    assert 'time_limits.install()\n' in (PACKAGE / file).read_text()
