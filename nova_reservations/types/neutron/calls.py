# SPDX-License-Identifier: Apache-2.0
"""Requests to Neutron as an administrator.

The credentials are those of ``[neutron]`` in nova.conf, as Nova itself uses
them, or of ``[service_user]`` if ``[neutron]`` has none."""

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
import functools
import itertools
from typing import Any
from typing import TypeVar

from keystoneauth1 import adapter
from keystoneauth1 import exceptions as ks_exc
from keystoneauth1 import loading
import nova.conf

from nova_reservations import exception
from nova_reservations import ports
from nova_reservations.cloud import credentials
from nova_reservations.cloud import errors

CONF = nova.conf.CONF
GROUP = 'neutron'

AT_ONCE = 100
"""The maximum number of values of a filter in one request: longer URLs are
refused."""

T = TypeVar('T')


def batches(values: Iterable[T]) -> Iterator[list[T]]:
    left = iter(values)
    while some := list(itertools.islice(left, AT_ONCE)):
        yield some


def list_all(
    collection: str, **wanted: str | Iterable[str]
) -> Iterator[dict[str, Any]]:
    """Yield all items that match the filters, page by page.

    :raises: CloudUnavailable
    """
    name = collection.replace('-', '_')
    url, params = f'/v2.0/{collection}', dict(wanted)
    while True:
        page = request('GET', url, params=params).json()
        yield from page[name]
        if not any(
            link['rel'] == 'next' for link in page.get(f'{name}_links', ())
        ):
            return
        params['marker'] = page[name][-1]['id']


def request(
    method: str,
    url: str,
    *also: int,
    params: Mapping[str, Any] | None = None,
    body: Any = None,
) -> Any:
    """Return Neutron's answer.

    :param also: the statuses beside 200, 201 and 204 that the caller handles
    :raises: CloudUnavailable
    """
    try:
        answer = client().request(url, method, params=params, json=body)
    except ks_exc.ClientException as error:
        raise errors.of_session('Neutron', error) from error
    if answer.status_code not in (200, 201, 204, *also):
        raise errors.of_answer(
            'Neutron', f'{method} {url}', answer.status_code, answer.text
        )
    return answer


def tag(collection: str, key: str, mark: ports.Mark) -> None:
    """Replace the tags of an object by those of a reservation."""
    request('PUT', f'/v2.0/{collection}/{key}/tags', body={'tags': mark.tags})


def made(found: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of ``ports.Made`` for an object from Neutron's API."""
    tags = frozenset(found['tags'])
    return {
        'id': found['id'],
        'project_id': found['project_id'],
        'words': tags | frozenset((found['description'] or '').split()),
        'is_tagged': ports.TAG in tags,
    }


def said(answer: Any) -> str:
    """Return Neutron's message of a refusal."""
    try:
        return str(answer.json()['NeutronError']['message'])
    except (KeyError, TypeError, ValueError):
        return f'the answer was {answer.status_code}'


@functools.cache
def client() -> adapter.Adapter:
    """Return a client of Neutron; it keeps its token until shortly before
    that expires.

    :raises: CloudUnavailable if there are no credentials
    """
    auth = (
        loading.load_auth_from_conf_options(CONF, GROUP)
        if CONF.neutron.auth_type
        else credentials.plugin()
    )
    if auth is None:
        raise exception.CloudUnavailable(
            service='Neutron',
            reason='neither [neutron] nor [service_user] of nova.conf has '
            'credentials',
        )
    return loading.load_adapter_from_conf_options(
        CONF,
        GROUP,
        session=loading.load_session_from_conf_options(CONF, GROUP, auth=auth),
        auth=auth,
        raise_exc=False,
    )
