# SPDX-License-Identifier: Apache-2.0
"""Volumes: a real Cinder, which the sandbox has too."""

from collections.abc import Iterator
import time
from typing import Any

import pytest
import requests

from nova_reservations.tests.contract import services

PROJECT = 'b0b0b0b0000040008000000000000001'
OTHER = 'b0b0b0b0000040008000000000000002'

_SECONDS = 60


@pytest.fixture(scope='module')
def cinder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return the URL of a Cinder that all tests have."""
    folder = tmp_path_factory.mktemp('cinder')
    with services.running('cinder', folder) as url:
        yield f'{url}/v3'


class Member:
    """A member of a project, who asks Cinder over HTTP."""

    def __init__(self, url: str, project_id: str) -> None:
        self._url = url
        self._headers = {
            'X-Auth-Token': f'user:{project_id}',
            'OpenStack-API-Version': 'volume 3.60',
        }

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        answer = requests.request(
            method,
            f'{self._url}{path}',
            json=body,
            headers=self._headers,
            timeout=_SECONDS,
        )
        assert answer.status_code in (200, 202, 204), answer.text
        return answer.json() if answer.content else None

    def volumes(self) -> dict[str, str]:
        """Return id -> status."""
        found = self.ask('GET', '/volumes/detail')['volumes']
        return {each['id']: each['status'] for each in found}

    def wait_for(self, volumes: dict[str, str]) -> None:
        deadline = time.monotonic() + _SECONDS
        while (seen := self.volumes()) != volumes:
            assert time.monotonic() < deadline, seen
            time.sleep(0.1)


@pytest.mark.functional
def test_a_member_has_volumes_of_its_own_in_a_cinder_of_the_sandbox(
    cinder: str,
) -> None:
    member, stranger = Member(cinder, PROJECT), Member(cinder, OTHER)
    made = member.ask('POST', '/volumes', {'volume': {'size': 1}})['volume']
    member.wait_for({made['id']: 'available'})
    assert not stranger.volumes()
    member.ask('DELETE', f'/volumes/{made["id"]}')
    member.wait_for({})
