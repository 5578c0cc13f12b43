# SPDX-License-Identifier: Apache-2.0
"""Requests to Cinder, as an administrator or as a project."""

from collections.abc import Iterator
from collections.abc import Mapping
import functools
from typing import Any

from keystoneauth1 import adapter
from keystoneauth1 import exceptions as ks_exc
from keystoneauth1 import loading
import nova.conf

from nova_reservations import exception
from nova_reservations.cloud import credentials
from nova_reservations.cloud import errors

CONF = nova.conf.CONF
GROUP = 'cinder'

MICROVERSION = '3.0'

_PAGE = 500

GONE = 404
REFUSED = (400, 401, 403, 404, 409, 413)


def list_all(
    collection: str,
    *also: int,
    microversion: str = MICROVERSION,
    **wanted: str,
) -> Iterator[dict[str, Any]]:
    """Yield all items that match the filters, page by page.

    :param also: the statuses that mean that there is nothing
    :raises: CloudUnavailable
    """
    noun = collection.partition('/')[0]
    name = 'volume_types' if noun == 'types' else noun
    params = {**wanted, 'limit': str(_PAGE)}
    while True:
        answer = request(
            'GET',
            f'/{collection}',
            *also,
            params=params,
            microversion=microversion,
        )
        if answer.status_code in also:
            return
        page = answer.json()
        yield from page[name]
        if not any(
            link['rel'] == 'next'
            for key in page.keys() - {name}
            for link in page[key]
        ):
            return
        params['marker'] = page[name][-1]['id']


def request(
    method: str,
    url: str,
    *also: int,
    project_id: str | None = None,
    params: Mapping[str, Any] | None = None,
    body: Any = None,
    microversion: str = MICROVERSION,
) -> Any:
    """Return Cinder's answer.

    :param also: the statuses beside 200, 201, 202 and 204 that the caller
        handles
    :param project_id: the project as which to ask; None: as an administrator
    :raises: CloudUnavailable
    :raises: CloudRefused if there is no token of the project
    """
    try:
        answer = client(project_id).request(
            url,
            method,
            params=params,
            json=body,
            microversion=microversion,
        )
    except ks_exc.ClientException as error:
        if (
            isinstance(error, ks_exc.Unauthorized)
            and project_id
            and not credentials.act_for(project_id)
        ):
            raise exception.CloudRefused(
                what='A token of the project',
                reason='[service_user] of Nova has no role in it',
            ) from error
        raise errors.of_session('Cinder', error) from error
    if answer.status_code not in (200, 201, 202, 204, *also):
        raise errors.of_answer(
            'Cinder', f'{method} {url}', answer.status_code, answer.text
        )
    return answer


def changed(what: str, answer: Any) -> None:
    """:raises: CloudRefused if Cinder has not done it"""
    if answer.status_code >= 400:
        raise exception.CloudRefused(what=what, reason=_said(answer))


def refusal(answer: Any, *done: int) -> str | None:
    """Return Cinder's message of a refusal; None: it has not refused.

    :param done: the statuses that mean that there is nothing left to do
    """
    if answer.status_code < 400 or answer.status_code in done:
        return None
    return _said(answer)


def _said(answer: Any) -> str:
    """Return Cinder's message of a refusal."""
    try:
        (told,) = answer.json().values()
        return str(told['message'])
    except (AttributeError, KeyError, TypeError, ValueError):
        return f'the answer was {answer.status_code}'


@functools.lru_cache(maxsize=credentials.PROJECTS)
def client(project_id: str | None) -> adapter.Adapter:
    """Return a client of Cinder that acts as a project, or as an
    administrator; it keeps its token until shortly before that expires.

    :raises: CloudUnavailable if there are no credentials
    """
    auth = (
        credentials.plugin_for(project_id)
        if project_id
        else credentials.plugin()
    )
    if auth is None:
        raise exception.CloudUnavailable(
            service='Cinder',
            reason='[service_user] of nova.conf has no credentials',
        )
    service_type, service_name, interface = CONF.cinder.catalog_info.split(':')
    template = CONF.cinder.endpoint_template
    return adapter.Adapter(
        loading.load_session_from_conf_options(CONF, GROUP, auth=auth),
        auth=auth,
        service_type=service_type,
        service_name=service_name or None,
        interface=interface,
        region_name=CONF.cinder.os_region_name,
        endpoint_override=template and template.replace('/%(project_id)s', ''),
        default_microversion=MICROVERSION,
        raise_exc=False,
    )
