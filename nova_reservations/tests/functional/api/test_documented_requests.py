# SPDX-License-Identifier: Apache-2.0
"""The API takes each request that the documentation shows, and has each
path."""

from collections.abc import Iterator
import datetime
import json
import pathlib
import re
import shlex
from typing import Any

import pytest
import webob.exc

from nova_reservations.api import routes
from nova_reservations.testing import fake_cloud
from nova_reservations.tests.functional.api import conftest

_ROOT = pathlib.Path(__file__).parents[4]
PAGES = sorted((_ROOT / 'doc' / 'source').rglob('*.rst'))
BASE = '$URL'

HOSTS = tuple(f'compute-{number}' for number in range(1, 9))
_PATH = re.compile(r'``(GET|POST|PUT|DELETE|PATCH) ([^`\s?]+)(?:\?[^`]*)?``')
OF_OTHERS = frozenset(
    {
        # Nova
        '/servers',
        '/os-volumes_boot',
        # a service that must allow leases
        'check-create',
        'check-update',
        'on-end',
        # Cinder
        '/groups',
    }
)
"""Paths that are shown, and are not ours."""

AWAITED = (
    'only an active lease has hosts that it could release',
    'End date must be later than current and start date',
)
"""Refusals of what is right at another time in the life of a lease."""


def curls() -> Iterator[tuple[str, ...]]:
    """Yield the words of each curl in a code block."""
    for page in PAGES:
        lines = iter(page.read_text().splitlines())
        for line in lines:
            if line.startswith('    ') and line.lstrip().startswith('curl '):
                yield tuple(_words(line, lines))


def _words(line: str, following: Iterator[str]) -> list[str]:
    while True:
        try:
            if not line.endswith('\\'):
                return shlex.split(line)
        except ValueError:  # A quote is still open.
            line += '\n'
        line = line.removesuffix('\\') + next(following)


def request_of(words: tuple[str, ...]) -> tuple[str, str, str | None, Any]:
    """Return method, path, body and headers of a curl."""
    method, path, body = '', '', None
    headers = {}
    left = iter(words[1:])
    for word in left:
        match word:
            case '-s':
                pass
            case '-X':
                method = next(left)
            case '-d':
                body = next(left)
            case '-H':
                name, _, value = next(left).partition(': ')
                headers[name] = value
            case _:
                assert word.startswith(f'{BASE}/'), word
                path = word.removeprefix(BASE)
    return method or ('GET' if body is None else 'POST'), path, body, headers


def paths() -> Iterator[tuple[str, str]]:
    """Yield method and path of each request that is named in a text."""
    for page in PAGES:
        yield from _PATH.findall(page.read_text())


@pytest.fixture
def cloud():
    return fake_cloud.FakeCloud(*HOSTS)


@pytest.fixture
def settings(settings):
    types = ['physical:host', 'virtual:instance', 'virtual:network']
    settings.set_override('resource_types', types, group='reservations')
    return settings


@pytest.fixture
def person(app, clock):
    clock.now = datetime.datetime(2027, 3, 1, tzinfo=datetime.UTC)
    person = conftest.Person(app, 'ours', 'admin', 'member', 'reader')
    for name in HOSTS:
        person('POST', '/os-hosts', {'name': name, 'gpu': 'a100'})
    return person


@pytest.mark.parametrize(
    'words',
    [
        pytest.param(words, id=' '.join(words[1:])[:60].replace('\n', ' '))
        for words in sorted(set(curls()))
    ],
)
def test_a_documented_request_is_taken(words, person):
    lease = person.lease(name='mine', start_date='2027-03-02 09:00')
    method, path, body, headers = request_of(words)
    for named, meant in (
        ('LEASE-ID', lease['id']),
        ('RESERVATION-ID', lease['reservations'][0]['id']),
    ):
        path = path.replace(named, meant)
        body = body and body.replace(named, meant)

    answer = person(method, path, body and json.loads(body), headers=headers)

    assert answer.status_int < 400 or any(
        text in answer.json['error_message'] for text in AWAITED
    ), answer.text


@pytest.mark.parametrize(('method', 'path'), sorted(set(paths())))
def test_a_documented_path_is_one_of_the_api(method, path):
    if path in OF_OTHERS:
        return
    tail = path.lstrip('./').removeprefix('os-reservations/v1/')
    tail = tail.removeprefix('v1/')
    try:
        routes.find(method, f'/v1/{tail}')
    except webob.exc.HTTPNotFound:
        # The page says below what it is.
        assert path.startswith('.')
        assert any(
            known.endswith(f'/{tail}') and method in actions
            for known, actions in routes.ROUTES.items()
        ), path


@pytest.mark.parametrize('page', PAGES, ids=lambda page: page.stem)
def test_json_that_is_shown_is_json(page):
    for block in re.findall(
        r'\.\. code-block:: json\n\n((?: .*\n|\n)+)', page.read_text()
    ):
        json.loads(block)
