# SPDX-License-Identifier: Apache-2.0
"""Stacks of Heat; each request is scoped to the project of the stack."""

from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import functools
import json
import threading
import time
from typing import Any
import uuid

from keystoneauth1 import adapter
from keystoneauth1 import exceptions as ks_exc
from keystoneauth1 import loading
import nova.conf
import requests

from nova_reservations import exception
from nova_reservations import ports
from nova_reservations.cloud import credentials
from nova_reservations.cloud import errors

CONF = nova.conf.CONF

FOR_PREVIEWS = 45
"""Seconds that a request has for the previews of all of its templates. For a
preview Heat asks other services about everything that a template names.
Clients such as load balancers wait a minute for our own answer."""

AT_ONCE = 4
"""Requests for which a process waits at the same time. A Heat that hangs must
not block all threads in which leases start and end."""

PATIENCE = 2
"""Seconds that a request waits for its turn."""

LARGEST = 4 << 20
"""The maximum size of an answer in bytes: a template of a few lines can have
an endless preview."""

_PREFIX = 'reservation-'
_PAGE = 200
_PIECE = 1 << 16
_GONE = 404
_CONFLICT = 409
_REFUSED = (400, 401, 403, 404, 409, 413)

_clock = time.monotonic

_turns = threading.BoundedSemaphore(AT_ONCE)


class Stacks:
    """Opens nothing until it is used, and so may be made before a fork."""

    def standing_in(self, project_id: str) -> ports.Standing | None:
        access = credentials.access_in(project_id)
        if access is None:
            return None
        return ports.Standing(
            tuple(access.role_names), credentials.services_of(access)
        )

    def services(self) -> Collection[str]:
        return credentials.services()

    def inherited_roles(self) -> Collection[str]:
        return credentials.inherited_roles()

    def preview(
        self, templates: Sequence[ports.Template], project_id: str
    ) -> list[list[ports.StackResource]]:
        until = _clock() + FOR_PREVIEWS
        return [self._preview(each, project_id, until) for each in templates]

    def _preview(
        self, template: ports.Template, project_id: str, until: float
    ) -> list[ports.StackResource]:
        left = until - _clock()
        if left <= 0:
            raise _slow()
        try:
            answer = _request(
                'POST',
                '/stacks/preview',
                project_id,
                *_REFUSED,
                # A random name, because Heat refuses one that exists. It has
                # the length of the real name, so that servers that are named
                # after the stack have the same length, too.
                body={
                    'stack_name': f'{_PREFIX}{uuid.uuid4()}',
                    **_of(template),
                },
                timeout=left,
            )
        except exception.CloudUnavailable as error:
            if _clock() < until:
                raise
            raise _slow() from error
        _done('The template', answer)
        return [
            ports.StackResource(
                each['resource_name'],
                each['resource_type'],
                each.get('properties') or {},
                each.get('parent_resource'),
            )
            for each in _flat(answer.found['stack']['resources'])
        ]

    def find(self, reservation_id: str, project_id: str) -> ports.Stack | None:
        # Not the request for one stack: it would compute all outputs, for
        # which Heat asks other services.
        named = {'name': f'{_PREFIX}{reservation_id}'}
        found = _request('GET', '/stacks', project_id, params=named)
        for each in found.found['stacks']:
            return _stack(each, project_id)
        return None

    def find_marked(self, project_id: str) -> list[ports.Stack]:
        params = {'tags': ports.TAG, 'limit': str(_PAGE)}
        found: list[ports.Stack] = []
        while True:
            page = _request('GET', '/stacks', project_id, params=params).found[
                'stacks'
            ]
            found += [_stack(each, project_id) for each in page]
            if len(page) < _PAGE:
                return found
            params['marker'] = page[-1]['id']

    def create(
        self,
        template: ports.Template,
        project_id: str,
        mark: ports.Mark,
        check: ports.Check,
    ) -> None:
        check()
        answer = _request(
            'POST',
            '/stacks',
            project_id,
            *_REFUSED,
            body={
                'stack_name': f'{_PREFIX}{mark.reservation_id}',
                'tags': ','.join(mark.tags),
                # No rollback: start() has to see that the stack has failed,
                # and the end of the lease deletes it.
                'disable_rollback': True,
                **_of(template),
            },
        )
        if answer.status != _CONFLICT:
            _done('The stack', answer)

    def suspend(self, stack: ports.Stack, check: ports.Check) -> None:
        check()
        answer = _request(
            'POST',
            f'/stacks/{stack.name}/{stack.id}/actions',
            stack.project_id,
            *_REFUSED,
            body={'suspend': None},
        )
        if answer.status not in (_GONE, _CONFLICT):
            _done('The stack', answer)

    def delete(self, stack: ports.Stack, check: ports.Check) -> None:
        check()
        answer = _request(
            'DELETE',
            f'/stacks/{stack.name}/{stack.id}',
            stack.project_id,
            *_REFUSED,
        )
        if answer.status not in (_GONE, _CONFLICT):
            _done('The stack', answer)


def _of(template: ports.Template) -> dict[str, Any]:
    return {
        'template': template.text,
        'parameters': dict(template.parameters),
    }


def _flat(resources: Any) -> Iterator[Any]:
    """Yield the resources of a preview, in which nested stacks are lists."""
    for each in resources:
        if isinstance(each, list):
            yield from _flat(each)
        else:
            yield each


def _stack(found: Mapping[str, Any], project_id: str) -> ports.Stack:
    action, _, status = found['stack_status'].partition('_')
    tags = frozenset(found.get('tags') or ())
    return ports.Stack(
        id=found['id'],
        project_id=project_id,
        words=tags,
        is_tagged=ports.TAG in tags,
        name=found['stack_name'],
        action=action,
        status=status,
        reason=found.get('stack_status_reason') or '',
    )


@dataclasses.dataclass(frozen=True, slots=True)
class _Answer:
    status: int
    text: str

    @property
    def found(self) -> Any:
        return json.loads(self.text)


def _request(
    method: str,
    url: str,
    project_id: str,
    *also: int,
    params: Mapping[str, Any] | None = None,
    body: Any = None,
    timeout: float | None = None,
) -> _Answer:
    """Return Heat's answer.

    :param also: the statuses beside 200, 201, 202 and 204 that the caller
        handles
    :param timeout: seconds to wait for the answer; None: as for all services
    :raises: CloudUnavailable
    :raises: CloudRefused if there is no token of the project, or the answer
        is too large
    """
    if not _turns.acquire(timeout=PATIENCE):
        raise _unavailable(f'{AT_ONCE} others wait for it')
    try:
        answer = _read(
            _client(project_id).request(
                url,
                method,
                params=params,
                json=body,
                stream=True,
                # Logging would read the whole answer.
                log=False,
                **({} if timeout is None else {'timeout': timeout}),
            )
        )
    except ks_exc.Unauthorized as error:
        if credentials.act_for(project_id):
            raise _unavailable(error) from error
        raise exception.CloudRefused(
            what='A token of the project',
            reason='[service_user] of Nova has no role in it',
        ) from error
    except (
        ks_exc.ClientException,
        requests.exceptions.RequestException,
    ) as error:
        raise _unavailable(error) from error
    finally:
        _turns.release()
    if answer.status not in (200, 201, 202, 204, *also):
        raise errors.of_answer(
            'Heat', f'{method} {url}', answer.status, answer.text
        )
    return answer


def _read(answer: requests.Response) -> _Answer:
    """:raises: CloudRefused if it is too large"""
    found = bytearray()
    with answer:
        for piece in answer.iter_content(_PIECE):
            found += piece
            if len(found) > LARGEST:
                raise exception.CloudRefused(
                    what='The answer of Heat',
                    reason=f'it has more than {LARGEST >> 20} MiB: less is to '
                    'be asked for at once',
                )
    return _Answer(answer.status_code, found.decode(errors='replace'))


def _unavailable(reason: object) -> exception.CloudUnavailable:
    return exception.CloudUnavailable(service='Heat', reason=reason)


def _slow() -> exception.CloudSlow:
    return exception.CloudSlow(service='Heat', seconds=FOR_PREVIEWS)


def _done(what: str, answer: _Answer) -> None:
    """:raises: CloudRefused if Heat has not done it"""
    if answer.status < 400:
        return
    try:
        told = answer.found
        reason = (told.get('error') or told)['message']
    except (AttributeError, KeyError, TypeError, ValueError):
        reason = f'the answer was {answer.status}'
    raise exception.CloudRefused(what=what, reason=reason)


@functools.lru_cache(maxsize=credentials.PROJECTS)
def _client(project_id: str) -> adapter.Adapter:
    """Return a client of Heat that acts as a project; it keeps its token until
    shortly before that expires.

    :raises: CloudUnavailable if there are no credentials
    """
    auth = credentials.plugin_for(project_id)
    if auth is None:
        raise _unavailable('[service_user] of nova.conf has no credentials')
    return adapter.Adapter(
        loading.load_session_from_conf_options(
            CONF, credentials.GROUP, auth=auth
        ),
        service_type='orchestration',
        interface=['internal', 'public'],
        # Nova has no options for Heat. Placement is in Nova's region.
        region_name=CONF.placement.region_name,
        raise_exc=False,
    )
