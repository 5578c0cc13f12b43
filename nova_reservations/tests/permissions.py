# SPDX-License-Identifier: Apache-2.0
"""Tables of the policy rules: the requests that each rule decides about, and
who may make them by default; the types of leases and resources that may be
created; and the rules that hide parts of an answer.

``unit/test_policies.py`` fails for a route or a rule that is missing here;
``functional/api/test_permissions.py`` makes the requests.
"""

from collections.abc import Mapping
import dataclasses
from typing import Any

from nova_reservations.types.neutron import fake_networks

OPEN = ('/', '/versions', '/v1', '/v1/openapi.json')
"""The paths that everybody with a token may read."""

_CREATES = 'reservations:leases:create'

ADMINS = frozenset({'admin'})
OWNERS = frozenset({'admin', 'manager', 'member'})
READERS = OWNERS | {'reader'}
MEMBERS = OWNERS | {'stranger'}
"""Members of any project, for requests about the caller's own project."""
USERS = READERS | MEMBERS


@dataclasses.dataclass(frozen=True)
class Request:
    """A request that is well formed, so that only a policy can refuse it.

    :ivar path: the path below the version; like the body, it contains the
        names of IDs in place of IDs.
    :ivar who: the persons in functional/api who may make the request.
    :ivar hidden: whether other projects get 404, so that they do not learn
        that the object exists.
    """

    method: str
    path: str
    who: frozenset[str]
    body: Mapping[str, Any] | None = None
    query: str = ''
    hidden: bool = False

    @property
    def route(self) -> tuple[str, str]:
        return self.method, f'/v1{self.path}'


def _lease(properties: str = '') -> dict[str, Any]:
    return {
        'name': 'a',
        'start_date': 'now',
        'duration': 60,
        'reservations': [
            {
                'resource_type': 'physical:host',
                'min': 1,
                'max': 1,
                'resource_properties': properties,
            }
        ],
    }


_CELL = '["!=", "$cell", "moon"]'
_HOST_NAME = '["!=", "$service_name", "moon"]'
_OFFERS = {
    'duration': 60,
    'reservations': [{'resource_type': 'physical:host', 'min': 1, 'max': 1}],
}
_ACCESS = {'reservation_id': '{reservation_id}', 'project': 'elsewhere'}
_SHARE = {'addProjectAccess': _ACCESS}
_UNSHARE = {'removeProjectAccess': _ACCESS}
_ACCESSES = {'projects': ['elsewhere']}
_SHARE_ALL = {'addProjectAccess': _ACCESSES}
_UNSHARE_ALL = {'removeProjectAccess': _ACCESSES}
_LEASE = '/leases/{lease_id}'
_SERIES = '/lease-series/{series_id}'
_HOST = '/os-hosts/{host_id}'
_FLOATING_IP = '/floatingips/{floatingip_id}'
_NETWORK = '/networks/{network_id}'
_RESOURCE = '/resources/{resource_id}'
_LICENCES = '?resource_type=example:licence'
_CAPACITY = '?start=now&end=2050-01-01 10:00&step=365d'

REQUESTS: Mapping[str, tuple[Request, ...]] = {
    'reservations:leases:index': (Request('GET', '/leases', USERS),),
    'reservations:leases:index:all_projects': (
        Request('GET', '/leases', ADMINS, query='?project_id=elsewhere'),
    ),
    'reservations:leases:deleted': (
        Request('GET', '/leases', ADMINS, query='?deleted=true'),
    ),
    'reservations:leases:show': (
        Request('GET', _LEASE, READERS, hidden=True),
        Request('GET', _SERIES, READERS, hidden=True),
    ),
    'reservations:leases:offers': (
        Request('POST', '/leases/offers', USERS, _OFFERS),
    ),
    _CREATES: (
        Request('POST', '/leases', MEMBERS, _lease(), '?dry_run=true'),
    ),
    f'{_CREATES}:all_projects': (
        Request(
            *('POST', '/leases', ADMINS),
            {**_lease(), 'project_id': 'elsewhere'},
            '?dry_run=true',
        ),
    ),
    'reservations:leases:update': (
        Request('PUT', _LEASE, OWNERS, {'name': 'b'}, hidden=True),
    ),
    'reservations:leases:delete': (
        Request('DELETE', _LEASE, OWNERS, hidden=True),
        Request('DELETE', _SERIES, OWNERS, hidden=True),
    ),
    'reservations:leases:index:shared': (
        Request('GET', '/leases', USERS, query='?shared=true'),
    ),
    'reservations:leases:project_access:index': (
        Request('GET', f'{_LEASE}/project-access', READERS, hidden=True),
    ),
    'reservations:leases:project_access:add': (
        Request('POST', f'{_LEASE}/action', OWNERS, _SHARE, hidden=True),
        Request('POST', f'{_LEASE}/action', OWNERS, _SHARE_ALL, hidden=True),
        Request('POST', f'{_SERIES}/action', OWNERS, _SHARE_ALL, hidden=True),
    ),
    'reservations:leases:project_access:remove': (
        Request('POST', f'{_LEASE}/action', OWNERS, _UNSHARE, hidden=True),
        Request('POST', f'{_LEASE}/action', OWNERS, _UNSHARE_ALL, hidden=True),
        Request(
            'POST', f'{_SERIES}/action', OWNERS, _UNSHARE_ALL, hidden=True
        ),
    ),
    'reservations:leases:cell': (
        Request('POST', '/leases', ADMINS, _lease(_CELL), '?dry_run=true'),
    ),
    'reservations:leases:host_names': (
        Request(
            'POST', '/leases', ADMINS, _lease(_HOST_NAME), '?dry_run=true'
        ),
    ),
    'reservations:limits:show': (Request('GET', '/limits', USERS),),
    'reservations:limits:show:all_projects': (
        Request('GET', '/limits', ADMINS, query='?project_id=elsewhere'),
    ),
    'reservations:hosts:index': (Request('GET', '/os-hosts', USERS),),
    'reservations:hosts:show': (Request('GET', _HOST, USERS),),
    'reservations:hosts:names': (
        Request('GET', '/os-hosts', ADMINS, query='?name=h1'),
        Request('GET', _HOST, ADMINS, query='?detail=True'),
    ),
    'reservations:hosts:create': (
        Request('POST', '/os-hosts', ADMINS, {'name': 'h2'}),
    ),
    'reservations:hosts:update': (
        Request('PUT', _HOST, ADMINS, {'gpu': 'H100'}),
    ),
    'reservations:hosts:delete': (Request('DELETE', _HOST, ADMINS),),
    'reservations:hosts:maintain': (
        Request('POST', f'{_HOST}/action', ADMINS, {'cordon': None}),
    ),
    'reservations:hosts:allocations': (
        Request('GET', '/os-hosts/allocations', ADMINS),
        Request('GET', f'{_HOST}/allocation', ADMINS),
    ),
    'reservations:hosts:calendar': (
        Request('GET', '/os-hosts/calendar', USERS),
    ),
    'reservations:hosts:capacity': (
        Request('GET', '/os-hosts/capacity', USERS, query=_CAPACITY),
    ),
    'reservations:hosts:capacity:projects': (
        Request(
            *('GET', '/os-hosts/capacity', ADMINS),
            query=f'{_CAPACITY}&by_project=True',
        ),
    ),
    'reservations:hosts:properties': (
        Request('GET', '/os-hosts/properties', USERS),
    ),
    'reservations:hosts:properties:private': (
        Request('GET', '/os-hosts/properties', ADMINS, query='?all=True'),
    ),
    'reservations:hosts:properties:update': (
        Request(
            'PATCH', '/os-hosts/properties/{name}', ADMINS, {'private': True}
        ),
    ),
    'reservations:floatingips:index': (Request('GET', '/floatingips', USERS),),
    'reservations:floatingips:show': (Request('GET', _FLOATING_IP, USERS),),
    'reservations:floatingips:create': (
        Request(
            *('POST', '/floatingips', ADMINS),
            {
                'floating_network_id': fake_networks.EXTERNAL,
                'floating_ip_address': '203.0.113.102',
            },
        ),
    ),
    'reservations:floatingips:delete': (
        Request('DELETE', _FLOATING_IP, ADMINS),
    ),
    'reservations:networks:index': (Request('GET', '/networks', ADMINS),),
    'reservations:networks:show': (Request('GET', _NETWORK, ADMINS),),
    'reservations:networks:create': (
        Request(
            *('POST', '/networks', ADMINS),
            {
                'network_type': 'vlan',
                'physical_network': 'physnet1',
                'segment_id': '102',
            },
        ),
    ),
    'reservations:networks:delete': (Request('DELETE', _NETWORK, ADMINS),),
    'reservations:resources:index': (
        Request('GET', '/resources', ADMINS, query=_LICENCES),
    ),
    'reservations:resources:show': (Request('GET', _RESOURCE, ADMINS),),
    'reservations:resources:create': (
        Request(
            *('POST', '/resources', ADMINS),
            {'resource_type': 'example:licence', 'name': 'fem'},
        ),
    ),
    'reservations:resources:update': (
        Request('PUT', _RESOURCE, ADMINS, {'cordoned': True}),
    ),
    'reservations:resources:delete': (Request('DELETE', _RESOURCE, ADMINS),),
    'reservations:resources:allocations': (
        Request('GET', '/resources/allocations', ADMINS, query=_LICENCES),
    ),
    'reservations:resources:calendar': (
        Request('GET', '/resources/calendar', USERS, query=_LICENCES),
    ),
    'reservations:resources:capacity': (
        Request(
            *('GET', '/resources/capacity', USERS),
            query=f'{_LICENCES}&{_CAPACITY.removeprefix("?")}',
        ),
    ),
    'reservations:resources:properties': (
        Request('GET', '/resources/properties', USERS, query=_LICENCES),
    ),
    'reservations:resources:properties:private': (
        Request(
            *('GET', '/resources/properties', ADMINS),
            query=f'{_LICENCES}&all=True',
        ),
    ),
    'reservations:usage:show': (Request('GET', '/usage', USERS),),
    'reservations:usage:show:all_projects': (
        Request('GET', '/usage', ADMINS, query='?project_id=elsewhere'),
    ),
    'reservations:demand:index': (Request('GET', '/demand', ADMINS),),
}

_TOMORROW = {'start_date': '2030-05-18 10:00'}


def _of(resource_type: str, **asked: Any) -> dict[str, Any]:
    reservation = {'resource_type': resource_type, **asked}
    return {**_TOMORROW, 'reservations': [reservation]}


CREATED: Mapping[str, Mapping[str, Any]] = {
    'best_effort': {'lease_type': 'best_effort'},
    'immediate': {},
    'retry': {'lease_type': 'retry'},
    'scheduled': _TOMORROW,
    'flavor:instance': _of(
        'flavor:instance', flavor_id='f', amount=1, affinity=None
    ),
    'network': _of('network', network_name='n'),
    'physical:host': _of('physical:host', min=1, max=1),
    'physical:storage': _of('physical:storage', amount=1),
    'virtual:floatingip': _of(
        'virtual:floatingip',
        network_id=fake_networks.EXTERNAL,
        amount=1,
    ),
    'virtual:instance': _of(
        'virtual:instance',
        vcpus=1,
        memory_mb=1,
        disk_gb=1,
        amount=1,
        affinity=None,
        resource_properties='',
    ),
    'virtual:network': _of('virtual:network', network_name='n'),
    'virtual:stack': _of('virtual:stack', template='a template'),
    'virtual:volume': _of('virtual:volume', size_gb=1),
}
"""Type of leases or of resources -> the rest of a request for such a lease.
By default, everybody who may create leases may create these types. The API
checks the policy first, and only then whether there is such a resource."""

SEEN: Mapping[str, frozenset[str]] = {
    'reservations:leases:show:hosts': READERS,
    'reservations:leases:reason_in_full': ADMINS,
    'reservations:leases:show:shared': frozenset({'stranger'}),
    'reservations:floatingips:all_networks': ADMINS,
    # A lease of this type is created by a request for a server.
    f'{_CREATES}:virtual:server': MEMBERS,
}
"""Rules that hide parts of an answer, or that refuse requests to another API
-> the persons whom the rule admits. No other rule admits them to the same."""


def of_created(kind: str) -> str:
    """Return the rule for a type of leases or of resources."""
    return f'{_CREATES}:{kind}'


def lease_of(kind: str) -> dict[str, Any]:
    """Return the body of a request for a lease of a type in CREATED."""
    return {**_lease(), **CREATED[kind]}
