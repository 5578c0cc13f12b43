# SPDX-License-Identifier: Apache-2.0
"""Networks and floating IPs of Neutron, which an administrator makes for
projects: with what nova.conf has in ``[neutron]``, as Nova itself does, or
with ``[service_user]`` where that has no credentials."""

from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
import functools
import itertools
from typing import Any

from keystoneauth1 import adapter
from keystoneauth1 import exceptions as ks_exc
from keystoneauth1 import loading
import nova.conf

from nova_reservations import exception
from nova_reservations import ports
from nova_reservations.cloud import credentials

CONF = nova.conf.CONF
GROUP = 'neutron'

TIMEOUT = 30
"""Seconds after which an answer is given up where [neutron] timeout is not
set: without one it is waited for without end."""

AT_ONCE = 100
"""The addresses that one request names: longer URLs are refused."""

_FLOATING = 'network:floatingip'
"""The owner of a port that a floating IP has in its network."""

EXTERNAL = 'access_as_external'
SHARED = 'access_as_shared'


class Networks:
    """Opens nothing until it is used, and so may be made before a fork."""

    def find_network(
        self, network_id: str, project_id: str | None = None
    ) -> ports.Network | None:
        found = list(_list('networks', id=network_id))
        if not found:
            return None
        [network] = found
        if project_id and not _is_seen(network, project_id):
            return None
        return ports.Network(
            network['id'],
            network['router:external'],
            tuple(map(_subnet, _list('subnets', network_id=network_id))),
        )

    def find_floating_ips(
        self, network_id: str, addresses: Collection[str]
    ) -> Mapping[str, ports.FloatingIP]:
        return {
            each['floating_ip_address']: _floating_ip(each)
            for some in _batches(addresses)
            for each in _list(
                'floatingips',
                floating_network_id=network_id,
                floating_ip_address=some,
            )
        }

    def find_ports(
        self, network_id: str, addresses: Collection[str]
    ) -> Mapping[str, str]:
        return {
            fixed['ip_address']: port['id']
            for some in _batches(addresses)
            for port in _list(
                'ports',
                network_id=network_id,
                fixed_ips=[f'ip_address={each}' for each in some],
            )
            if port['device_owner'] != _FLOATING
            for fixed in port['fixed_ips']
            if fixed['ip_address'] in some
        }

    def find_marked(self) -> Collection[ports.FloatingIP]:
        return [
            _floating_ip(each) for each in _list('floatingips', tags=ports.TAG)
        ]

    def create_floating_ip(
        self,
        network_id: str,
        address: str,
        project_id: str,
        mark: ports.Mark,
        check: ports.Check,
    ) -> None:
        check()
        answer = _request(
            'POST',
            '/v2.0/floatingips',
            400,
            404,
            409,
            body={
                'floatingip': {
                    'floating_network_id': network_id,
                    'floating_ip_address': address,
                    'project_id': project_id,
                    'description': mark.description,
                }
            },
        )
        if answer.status_code != 201:
            raise exception.CloudRefused(
                what=f'The floating IP {address}', reason=_said(answer)
            )
        self.tag(_floating_ip(answer.json()['floatingip']), mark, check)

    def tag(
        self,
        floating_ip: ports.FloatingIP,
        mark: ports.Mark,
        check: ports.Check,
    ) -> None:
        check()
        _request(
            'PUT',
            f'/v2.0/floatingips/{floating_ip.id}/tags',
            body={'tags': mark.tags},
        )

    def delete_floating_ip(
        self, floating_ip: ports.FloatingIP, check: ports.Check
    ) -> None:
        check()
        _request('DELETE', f'/v2.0/floatingips/{floating_ip.id}', 404)


def _is_seen(network: Mapping[str, Any], project_id: str) -> bool:
    """Return whether a project sees a network: as its own, or because it, or
    everybody, was given access to it."""
    if network['project_id'] == project_id:
        return True
    return any(
        access['target_tenant'] in (project_id, '*')
        for access in _list(
            'rbac-policies', object_type='network', object_id=network['id']
        )
        if access['action'] in (EXTERNAL, SHARED)
    )


def _subnet(found: Mapping[str, Any]) -> ports.Subnet:
    return ports.Subnet(
        found['id'],
        found['cidr'],
        found['gateway_ip'],
        tuple(
            (pool['start'], pool['end']) for pool in found['allocation_pools']
        ),
    )


def _floating_ip(found: Mapping[str, Any]) -> ports.FloatingIP:
    tags = frozenset(found['tags'])
    return ports.FloatingIP(
        found['id'],
        found['floating_ip_address'],
        found['floating_network_id'],
        found['project_id'],
        tags | frozenset((found['description'] or '').split()),
        is_tagged=ports.TAG in tags,
    )


def _batches(addresses: Collection[str]) -> Iterator[list[str]]:
    left = iter(sorted(addresses))
    while some := list(itertools.islice(left, AT_ONCE)):
        yield some


def _list(
    collection: str, **wanted: str | Iterable[str]
) -> Iterator[dict[str, Any]]:
    """Yield all that meet the filters, page by page.

    :raises: CloudUnavailable
    """
    name = collection.replace('-', '_')
    url, params = f'/v2.0/{collection}', dict(wanted)
    while True:
        page = _request('GET', url, params=params).json()
        yield from page[name]
        if not any(
            link['rel'] == 'next' for link in page.get(f'{name}_links', ())
        ):
            return
        params['marker'] = page[name][-1]['id']


def _request(
    method: str,
    url: str,
    *also: int,
    params: Mapping[str, Any] | None = None,
    body: Any = None,
) -> Any:
    """Return Neutron's answer.

    :param also: the statuses beside 200, 201 and 204 that the caller is
        prepared for
    :raises: CloudUnavailable
    """
    try:
        answer = _client().request(
            url,
            method,
            params=params,
            json=body,
            timeout=CONF.neutron.timeout or TIMEOUT,
        )
    except ks_exc.ClientException as error:
        raise exception.CloudUnavailable(
            service='Neutron', reason=error
        ) from error
    if answer.status_code not in (200, 201, 204, *also):
        raise exception.CloudUnavailable(
            service='Neutron',
            reason=f'{method} {url} was answered with '
            f'{answer.status_code}: {answer.text[:500]}',
        )
    return answer


def _said(answer: Any) -> str:
    """Return why Neutron has refused, in its words."""
    try:
        return str(answer.json()['NeutronError']['message'])
    except (KeyError, TypeError, ValueError):
        return f'the answer was {answer.status_code}'


@functools.cache
def _client() -> adapter.Adapter:
    """Return what asks Neutron; it keeps its token until shortly before that
    expires.

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
