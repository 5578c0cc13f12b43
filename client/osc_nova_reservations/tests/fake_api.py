# SPDX-License-Identifier: Apache-2.0
"""A lease API in memory, which takes the place of a session's network."""

import datetime
import http
import io
import json
from typing import Any
from urllib import parse
import uuid

import requests
from requests import adapters


def _dated(values: dict[str, Any]) -> dict[str, Any]:
    """Return values of a lease with dates as the API shows them."""
    return values | {
        key: _shown(values[key])
        for key in ('start_date', 'end_date')
        if key in values
    }


def _refused(
    status: http.HTTPStatus, why: str
) -> tuple[http.HTTPStatus, bytes]:
    return status, json.dumps({'error_message': why}).encode()


def _shown(text: str) -> str:
    found = NOW if text == 'now' else datetime.datetime.fromisoformat(text)
    if found.tzinfo:
        found = found.astimezone(datetime.UTC).replace(tzinfo=None)
    return f'{found:%Y-%m-%dT%H:%M:%S.%f}'


_OTHERS = frozenset({'start_before', 'end_after', 'changes-since', 'shared'})


PROJECT = 'b' * 32
"""The project of whoever runs commands."""

NOW = datetime.datetime(2039, 6, 1, 12, tzinfo=datetime.UTC)
"""A Wednesday."""


class FakeApi(adapters.BaseAdapter):
    """Keeps the leases that requests create.

    :ivar leases: leases as the API shows them, by ID
    :ivar offers: windows that are offered, whatever is asked for
    :ivar limits: limits of the project, and how much of them it uses
    :ivar usages: usage of projects, whatever window is asked for
    :ivar wanted: bodies of requests for offers
    :ivar sent: bodies of requests for leases, and for changes
    :ivar queries: queries of requests about leases: key -> values
    :ivar keys: idempotency keys of requests for new leases
    :ivar unshared: why projects get no access, if they do not
    :ivar cannot_change: a lease that can not be changed
    :ivar why_not: why dry runs of new leases are refused, if they are
    :ivar lost: whether the connection is lost before the next answer
    :ivar taken: how many of the next new leases are refused
    :ivar allocations: hosts with their reservations and holds, which only
        administrators see; None: the viewer is no administrator
    :ivar unnamed: hosts without names, as everybody sees them
    :ivar promised: bars of promises for which no host is chosen yet
    :ivar page: how many unnamed hosts are in an answer
    :ivar resources: resources other than hosts, as the API shows them
    :ivar actions: bodies of actions on leases
    :ivar asked: leases whose projects are asked for, or changed
    :ivar accesses: projects that reservations are shared with
    :ivar refusal: status and body with which all further requests are refused
    """

    def __init__(self) -> None:
        super().__init__()
        self.leases: dict[str, dict[str, Any]] = {}
        self.offers: list[dict[str, Any]] = []
        self.limits: dict[str, int] = {}
        self.usages: list[dict[str, Any]] = []
        self.wanted: list[dict[str, Any]] = []
        self.sent: list[dict[str, Any]] = []
        self.queries: list[dict[str, list[str]]] = []
        self.keys: list[str] = []
        self.why_not = ''
        self.unshared = ''
        self.cannot_change = ''
        self.lost = False
        self.taken = 0
        self.allocations: list[dict[str, Any]] | None = None
        self.unnamed: list[dict[str, Any]] = []
        self.promised: list[dict[str, Any]] = []
        self.page = 2
        self.resources: list[dict[str, Any]] = []
        self.actions: list[dict[str, Any]] = []
        self.accesses: list[dict[str, str]] = []
        self.asked: list[str] = []
        self.refusal: tuple[http.HTTPStatus, bytes] | None = None

    def add(
        self, reservations: Any = ({'id': 'r'},), **values: Any
    ) -> dict[str, Any]:
        """Create a lease, and return it as the API shows it."""
        lease_id = str(uuid.uuid4())
        lease = values | {
            'id': lease_id,
            'project_id': values.get('project_id', PROJECT),
            'start_date': '2040-01-01T10:00:00.000000',
            'end_date': '2040-01-01T12:00:00.000000',
            **_dated(values),
            'status': 'PENDING',
            'events': [],
            'trust_id': None,
            'reservations': [*reservations],
        }
        self.leases[lease_id] = lease
        return lease

    def send(
        self, request: requests.PreparedRequest, *_: Any, **__: Any
    ) -> requests.Response:
        response = requests.Response()
        response.request = request
        response.url = request.url or ''
        answer = self._answer
        if response.url.endswith(('/action', '/project-access')):
            answer = self._access
        elif '/lease-series/' in response.url:
            answer = self._series
        elif '/limits' in response.url:
            answer = self._limits
        elif '/usage' in response.url:
            answer = self._usages
        elif '/resources?' in response.url:
            answer = self._resources
        status, body = self.refusal or answer(request)
        if self.lost:
            self.lost = False
            raise requests.ConnectionError('lost')
        response.status_code = status
        response.headers['Content-Type'] = 'application/json'
        response.reason = status.phrase
        response.raw = io.BytesIO(body)
        return response

    def close(self) -> None:
        pass

    def _limits(
        self, request: requests.PreparedRequest
    ) -> tuple[http.HTTPStatus, bytes]:
        query = parse.urlsplit(request.url or '').query
        self.queries.append(parse.parse_qs(str(query)))
        shown = {'limits': {'rate': [], 'absolute': self.limits}}
        return http.HTTPStatus.OK, json.dumps(shown).encode()

    def _usages(
        self, request: requests.PreparedRequest
    ) -> tuple[http.HTTPStatus, bytes]:
        query = parse.urlsplit(request.url or '').query
        self.queries.append(parse.parse_qs(str(query)))
        shown = {'tenant_usages': self.usages}
        return http.HTTPStatus.OK, json.dumps(shown).encode()

    def _resources(
        self, request: requests.PreparedRequest
    ) -> tuple[http.HTTPStatus, bytes]:
        query = parse.urlsplit(request.url or '').query
        self.queries.append(parse.parse_qs(str(query)))
        shown = {'resources': self.resources, 'resources_links': []}
        return http.HTTPStatus.OK, json.dumps(shown).encode()

    def _access(
        self, request: requests.PreparedRequest
    ) -> tuple[http.HTTPStatus, bytes]:
        self.asked.append(str(request.url).split('/')[-2])
        if self.unshared:
            return _refused(http.HTTPStatus.CONFLICT, self.unshared)
        if request.method == 'POST':
            self.actions.append(json.loads(request.body or '{}'))
        shown = {'project_access': self.accesses}
        return http.HTTPStatus.OK, json.dumps(shown).encode()

    def _answer(
        self, request: requests.PreparedRequest
    ) -> tuple[http.HTTPStatus, bytes]:
        url = parse.urlsplit(request.url or '')
        shown: dict[str, Any]
        path = str(url.path).rpartition('/v1/')[2]
        noun, _, what = path.rpartition('/')
        if noun in ('os-hosts', 'resources'):
            return self._answer_of_rows(
                noun.removeprefix('os-'),
                what,
                dict(parse.parse_qsl(str(url.query))),
            )
        lease_id = str(url.path).rpartition('/leases')[2].removeprefix('/')
        if lease_id == 'offers':
            self.wanted.append(json.loads(request.body or '{}'))
            found = self.offers[: self.wanted[-1].get('limit')]
            shown = {'offers': found, 'truncated': not self.why_not}
            return http.HTTPStatus.OK, json.dumps(shown).encode()
        if lease_id and lease_id not in self.leases:
            return _refused(http.HTTPStatus.NOT_FOUND, 'not here')
        body = json.loads(request.body or '{}')
        query: dict[str, Any] = dict(parse.parse_qsl(str(url.query)))
        self.queries.append(parse.parse_qs(str(url.query)))
        query.pop('status', None)
        if body:
            self.sent.append(body)
        if request.method == 'PUT' and lease_id == self.cannot_change:
            return _refused(http.HTTPStatus.CONFLICT, 'no room')
        if query.pop('dry_run', 'false') == 'true':
            return self._tried(request, lease_id, body)
        if 'Idempotency-Key' in request.headers:
            self.keys.append(str(request.headers['Idempotency-Key']))
        if request.method == 'POST' and self.taken:
            self.taken -= 1
            return _refused(http.HTTPStatus.CONFLICT, 'too late')
        return self._done(str(request.method), lease_id, body, query)

    def _tried(
        self,
        request: requests.PreparedRequest,
        lease_id: str,
        body: dict[str, Any],
    ) -> tuple[http.HTTPStatus, bytes]:
        if request.method == 'POST' and self.why_not:
            return _refused(http.HTTPStatus.BAD_REQUEST, self.why_not)
        shown = {
            'id': 'none',
            'name': 'mine',
            'start_date': '2040-01-01T10:00:00.000000',
            'end_date': '2040-01-01T12:00:00.000000',
            'series_id': 'none',
            **self.leases.get(lease_id, {}),
            **_dated(body),
        }
        answer = {'lease': shown, 'leases': [shown], 'refused': []}
        return http.HTTPStatus.OK, json.dumps(answer).encode()

    def _done(
        self,
        method: str,
        lease_id: str,
        body: dict[str, Any],
        query: dict[str, Any],
    ) -> tuple[http.HTTPStatus, bytes]:
        shown: dict[str, Any]
        match method, lease_id:
            case 'GET', '':
                shown = {'leases': self._list(**query)}
            case 'POST', '':
                shown = self._made(body)
            case 'GET', _:
                shown = {'lease': self.leases[lease_id]}
            case 'PUT', _:
                self.leases[lease_id] |= _dated(body)
                shown = {'lease': self.leases[lease_id]}
            case 'DELETE', _:
                del self.leases[lease_id]
                return http.HTTPStatus.NO_CONTENT, b''
            case _:
                return http.HTTPStatus.METHOD_NOT_ALLOWED, b''
        return http.HTTPStatus.OK, json.dumps(shown).encode()

    def _answer_of_rows(
        self, noun: str, what: str, query: dict[str, str]
    ) -> tuple[http.HTTPStatus, bytes]:
        assert query['start'] < query['end']
        if what == 'allocations':
            if self.allocations is None:
                refused = b'{"error_message": "not allowed"}'
                return http.HTTPStatus.FORBIDDEN, refused
            shown: dict[str, Any] = {'allocations': self.allocations}
        else:
            left = self.unnamed[int(query.get('marker', 0)) :]
            shown = {noun: left[: self.page]}
            if 'marker' not in query:
                shown['promised'] = self.promised
            if left[self.page :]:
                shown[f'{noun}_links'] = [{'rel': 'next', 'href': ''}]
        return http.HTTPStatus.OK, json.dumps(shown).encode()

    def _made(self, body: dict[str, Any]) -> dict[str, Any]:
        """Create a lease, or a series; if the series may be partial, without
        its last lease."""
        if 'repeat' not in body:
            return {'lease': self.add(**body)}
        series_id = str(uuid.uuid4())
        wanted = body['repeat'].get('count', 2)
        count = wanted - body['repeat'].get('partial', False)
        leases = [self.add(**body, series_id=series_id) for _ in range(count)]
        refused = [
            {
                'start_date': '2040-01-08T10:00:00.000000',
                'end_date': '2040-01-08T12:00:00.000000',
                'reason': 'it is full',
            }
        ]
        return {
            'lease': leases[0],
            'leases': leases,
            'refused': refused * (wanted - count),
        }

    def _series(
        self, request: requests.PreparedRequest
    ) -> tuple[http.HTTPStatus, bytes]:
        """Show a series, or delete its leases except those that have
        begun."""
        url = parse.urlsplit(request.url or '')
        series_id = str(url.path).rpartition('/')[2]
        self.queries.append(parse.parse_qs(str(url.query)))
        its = [
            lease
            for lease in self.leases.values()
            if lease.get('series_id') == series_id
        ]
        if not its:
            return http.HTTPStatus.NOT_FOUND, b'{"error_message": "not here"}'
        shown: dict[str, Any] = {'series': {'id': series_id, 'leases': its}}
        if request.method == 'DELETE':
            left = [lease for lease in its if lease['status'] == 'ACTIVE']
            for lease in its:
                if lease not in left:
                    del self.leases[lease['id']]
            shown = {
                'remaining': [{'lease': each, 'reason': None} for each in left]
            }
        return http.HTTPStatus.OK, json.dumps(shown).encode()

    def _list(
        self,
        sort_key: str = 'id',
        sort_dir: str = 'asc',
        limit: str | None = None,
        marker: str | None = None,
        **wanted: str,
    ) -> list[dict[str, Any]]:
        statuses = self.queries[-1].get('status')
        found = [
            lease
            for lease in self.leases.values()
            if (not statuses or lease['status'] in statuses)
            and all(
                lease[key] == value
                for key, value in wanted.items()
                if key not in _OTHERS
            )
        ]
        found.sort(
            key=lambda lease: str(lease.get(sort_key)),
            reverse=sort_dir == 'desc',
        )
        ids = [None, *(lease['id'] for lease in found)]
        return found[ids.index(marker) :][: int(limit) if limit else None]
