# SPDX-License-Identifier: Apache-2.0
"""Tokens of projects, and the check of the role that gives them, with a
keystone that knows the user's roles."""

from collections.abc import Iterator
import json
import threading
from typing import Any
import wsgiref.simple_server
import wsgiref.types

from keystoneauth1 import loading
import nova.conf
from oslo_config import cfg
import pytest

from nova_reservations import exception
from nova_reservations import ports
from nova_reservations.cloud import credentials
from nova_reservations.types.cinder import client as volumes
from nova_reservations.types.heat import client as stacks

OWN, LESSEE, STRANGER = 'own', 'lessee', 'stranger'


class Keystone:
    """:ivar roles: the projects in which the user has a role.
    :ivar inherited: whether the user has a role that projects inherit.
    :ivar is_broken: whether keystone answers with 500.
    """

    def __init__(self) -> None:
        self.roles = {OWN, LESSEE}
        self.inherited = True
        self.is_broken = False
        self.url = ''

    def __call__(
        self,
        environ: wsgiref.types.WSGIEnvironment,
        start: wsgiref.types.StartResponse,
    ) -> list[bytes]:
        size = int(environ.get('CONTENT_LENGTH') or 0)
        asked = json.loads(environ['wsgi.input'].read(size) or '{}')
        status, answer = self._answer(environ['PATH_INFO'], asked)
        start(
            status,
            [
                ('Content-Type', 'application/json'),
                ('X-Subject-Token', 'a token'),
            ],
        )
        return [json.dumps(answer).encode()]

    def _answer(self, path: str, asked: Any) -> tuple[str, Any]:
        if self.is_broken:
            return '500 Internal Server Error', {}
        if path == '/v3/role_assignments':
            of_system = {
                'scope': {'system': {'all': True}},
                'role': {'id': 'id of reader', 'name': 'reader'},
            }
            inherited = {
                'scope': {'OS-INHERIT:inherited_to': 'projects'},
                'role': {'id': 'id of member', 'name': 'member'},
            }
            there = [of_system] + [inherited] * self.inherited
            return '200 OK', {'role_assignments': there}
        project_id = asked['auth']['scope']['project']['id']
        if project_id not in self.roles:
            return '401 Unauthorized', {}
        return '201 Created', {'token': self._token(project_id)}

    def _token(self, project_id: str) -> Any:
        return {
            'user': {'id': 'nova', 'name': 'nova', 'domain': {'id': 'd'}},
            'project': {'id': project_id, 'name': project_id},
            'roles': [{'id': 'member', 'name': 'member'}],
            'methods': ['password'],
            'issued_at': '2030-01-01T00:00:00.000000Z',
            'expires_at': '2100-01-01T00:00:00.000000Z',
            'catalog': [
                {
                    'type': 'identity',
                    'name': 'keystone',
                    'endpoints': [
                        {
                            'id': 'it',
                            'interface': 'public',
                            'region': 'r',
                            'region_id': 'r',
                            'url': self.url,
                        }
                    ],
                }
            ],
        }


class _Quiet(wsgiref.simple_server.WSGIRequestHandler):
    def log_message(self, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def keystone(monkeypatch: pytest.MonkeyPatch) -> Iterator[Keystone]:
    keystone = Keystone()
    with wsgiref.simple_server.make_server(
        '127.0.0.1', 0, keystone, handler_class=_Quiet
    ) as server:
        keystone.url = f'http://127.0.0.1:{server.server_port}/v3'
        conf = cfg.ConfigOpts()
        loading.register_auth_conf_options(conf, credentials.GROUP)
        loading.register_session_conf_options(conf, credentials.GROUP)
        conf.register_opts(
            loading.get_auth_plugin_conf_options('v3password'),
            credentials.GROUP,
        )
        for name, value in {
            'auth_type': 'v3password',
            'auth_url': keystone.url,
            'user_id': 'nova',
            'password': 'secret',
            'project_id': OWN,
        }.items():
            conf.set_override(name, value, credentials.GROUP)
        conf([])
        monkeypatch.setattr(credentials, 'CONF', conf)
        _forget()
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield keystone
        server.shutdown()
        thread.join()
    _forget()


def _forget() -> None:
    credentials.plugin.cache_clear()
    credentials.plugin_for.cache_clear()


def test_there_are_tokens_of_projects_with_a_role(keystone: Keystone) -> None:
    assert volumes.Volumes().acts_for(LESSEE)
    assert not volumes.Volumes().acts_for(STRANGER)


def test_a_role_that_was_taken_away_is_missed_at_once(
    keystone: Keystone,
) -> None:
    assert volumes.Volumes().acts_for(LESSEE)
    keystone.roles.discard(LESSEE)
    assert not volumes.Volumes().acts_for(LESSEE)


def test_roles_and_services_of_a_token_are_told(keystone: Keystone) -> None:
    assert stacks.Stacks().standing_in(LESSEE) == ports.Standing(
        ('member',), {'identity'}
    )
    assert stacks.Stacks().standing_in(STRANGER) is None
    assert stacks.Stacks().inherited_roles() == {'member'}
    assert stacks.Stacks().services() == {'identity'}


def test_a_token_is_of_the_project_alone(keystone: Keystone) -> None:
    session = loading.load_session_from_conf_options(
        credentials.CONF, credentials.GROUP
    )
    token = credentials.plugin_for(LESSEE).get_access(session)
    assert token.project_id == LESSEE
    own = credentials.plugin().get_access(session)
    assert own.project_id == OWN


def test_bad_credentials_are_no_lack_of_a_role(keystone: Keystone) -> None:
    keystone.roles.clear()
    with pytest.raises(exception.CloudUnavailable):
        volumes.Volumes().acts_for(LESSEE)


def test_a_keystone_that_fails_is_no_lack_of_a_role(
    keystone: Keystone,
) -> None:
    keystone.is_broken = True
    with pytest.raises(exception.CloudUnavailable):
        volumes.Volumes().acts_for(LESSEE)
    with pytest.raises(exception.CloudUnavailable):
        volumes.Volumes().acts_everywhere()


def test_an_inherited_role_is_seen(keystone: Keystone) -> None:
    assert volumes.Volumes().acts_everywhere()
    keystone.inherited = False
    assert not volumes.Volumes().acts_everywhere()


def test_without_credentials_there_is_no_token(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _forget()
    assert nova.conf.CONF.service_user.auth_type is None
    assert not volumes.Volumes().acts_for(LESSEE)
    assert not volumes.Volumes().acts_everywhere()
    assert not stacks.Stacks().services()
    _forget()
