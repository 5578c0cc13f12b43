# SPDX-License-Identifier: Apache-2.0
"""``conn.reservation``: requests to the lease API.

The methods are named as openstacksdk names those of its own services.
"""

from collections.abc import Iterator
from collections.abc import Sequence
import contextlib
from typing import Any
import uuid

from openstack import exceptions
from openstack import proxy
from openstack import resource
import requests

from osc_nova_reservations.sdk import lease as _lease
from osc_nova_reservations.sdk import pool
from osc_nova_reservations.sdk import series as _series

_DRY_RUN = {'dry_run': 'true'}


class Proxy(proxy.Proxy):
    api_version = '1'
    skip_discovery = True

    def request(self, url: str, method: str, *args: Any, **kwargs: Any) -> Any:
        """Send a request.

        :raises: openstack.exceptions.HttpException, with the message of the
            API; BadRequestException, ForbiddenException, NotFoundException,
            ConflictException
        """
        response = super().request(url, method, *args, **kwargs)
        if response.status_code >= 400:
            exceptions.raise_from_response(response, _message(response))
        return response

    def leases(self, **query: Any) -> Iterator[_lease.Lease]:
        """Yield leases.

        :param query: name, status (one or several), project_id, shared,
            start_after, start_before, end_after, end_before, changes_since,
            deleted, sort_key, sort_dir, limit, marker
        """
        found: Iterator[_lease.Lease] = self._list(_lease.Lease, **query)
        return found

    def get_lease(self, lease: Any, *, deleted: bool = False) -> _lease.Lease:
        """:raises: openstack.exceptions.NotFoundException"""
        query = {'deleted': 'true'} if deleted else None
        lease_id = resource.Resource._get_id(lease)
        return self._shown(self.get(f'/leases/{lease_id}', params=query))

    def find_lease(
        self, name_or_id: str, ignore_missing: bool = True
    ) -> _lease.Lease | None:
        """Return the lease with this ID, or this name: the one that is not
        over, if there is one.

        :raises: openstack.exceptions.DuplicateResource,
            openstack.exceptions.NotFoundException
        """
        found = self.leases_named(name_or_id)
        if len(found) > 1:
            raise exceptions.DuplicateResource(
                f'{len(found)} leases have the name {name_or_id}'
            )
        if found:
            return found[0]
        if ignore_missing:
            return None
        raise exceptions.NotFoundException(
            f'No lease has the name or ID {name_or_id}'
        )

    def leases_named(self, name_or_id: str) -> list[_lease.Lease]:
        """Return the leases that are meant by a name or an ID. A name means
        those that are over only if no other has it."""
        if is_id(name_or_id):
            with contextlib.suppress(exceptions.NotFoundException):
                return [self.get_lease(name_or_id)]
        found = list(self.leases(name=name_or_id))
        return [
            each for each in found if each.status not in _lease.ENDED
        ] or found

    def create_lease(
        self,
        *,
        dry_run: bool = False,
        idempotency_key: str | None = None,
        **attrs: Any,
    ) -> _lease.Lease:
        """Create a lease.

        :param dry_run: only return what would be
        :param attrs: name, start_date, end_date or duration, reservations,
            lease_type, before_end_date, project_id ...
        """
        return self._shown(self._post(attrs, dry_run, idempotency_key))

    def create_series(
        self,
        *,
        dry_run: bool = False,
        idempotency_key: str | None = None,
        **attrs: Any,
    ) -> _series.Series:
        """Create leases that repeat, all or those for which there is room.

        :param attrs: those of a lease, and repeat
        """
        made = self._post(attrs, dry_run, idempotency_key).json()
        return _series.Series.existing(
            connection=self._get_connection(),
            id=made['lease']['series_id'],
            name=made['lease']['name'],
            leases=made['leases'],
            # An earlier request with the same key was told them.
            refused=made.get('refused') or [],
        )

    def _post(
        self, attrs: dict[str, Any], dry_run: bool, key: str | None
    ) -> requests.Response:
        return self.post(
            '/leases',
            json=attrs,
            params=_DRY_RUN if dry_run else None,
            headers={'Idempotency-Key': key} if key else None,
        )

    def update_lease(
        self, lease: Any, *, dry_run: bool = False, **attrs: Any
    ) -> _lease.Lease:
        """Change a lease.

        :param attrs: name, start_date, end_date, before_end_date,
            reservations (each with its id), replace_failed
        """
        lease_id = resource.Resource._get_id(lease)
        return self._shown(
            self.put(
                f'/leases/{lease_id}',
                json=attrs,
                params=_DRY_RUN if dry_run else None,
            )
        )

    def delete_lease(self, lease: Any, ignore_missing: bool = True) -> None:
        """Delete a lease; one that has started is ended first."""
        self._delete(_lease.Lease, lease, ignore_missing=ignore_missing)

    def wait_for_lease(
        self,
        lease: _lease.Lease,
        status: str = 'ACTIVE',
        interval: float = 2,
        wait: float | None = None,
        callback: Any = None,
    ) -> _lease.Lease:
        """Wait until a lease has a status.

        :param wait: seconds; None: as long as it takes
        :raises: openstack.exceptions.ResourceFailure if it is over
        :raises: openstack.exceptions.ResourceTimeout
        """
        found: _lease.Lease = resource.wait_for_status(
            self,
            lease,
            status,
            failures=[*_lease.ENDED - {status}],
            interval=interval,
            wait=wait,
            callback=callback,
        )
        return found

    def lease_offers(self, **attrs: Any) -> list[_lease.Offer]:
        """Return windows in which a lease would be accepted.

        :param attrs: duration, reservations, start_after, start_before,
            limit, project_id
        """
        return [
            _lease.Offer.existing(**each)
            for each in self.lease_offers_page(**attrs)['offers']
        ]

    def lease_offers_page(self, **attrs: Any) -> dict[str, Any]:
        """Return the same, and whether there may be later ones, as dicts."""
        return dict(self.post('/leases/offers', json=attrs).json())

    def share_lease(
        self,
        lease: Any,
        projects: Sequence[str],
        reservation_id: str | None = None,
    ) -> None:
        """Let projects create servers in a lease.

        :param projects: IDs
        :param reservation_id: of this reservation; by default of all
        """
        self._access('leases', lease, 'add', projects, reservation_id)

    def unshare_lease(
        self,
        lease: Any,
        projects: Sequence[str],
        reservation_id: str | None = None,
    ) -> None:
        """Do not let projects create more servers in a lease."""
        self._access('leases', lease, 'remove', projects, reservation_id)

    def lease_projects(self, lease: Any) -> list[dict[str, str]]:
        """Return with which projects each reservation is shared."""
        lease_id = resource.Resource._get_id(lease)
        found = self.get(f'/leases/{lease_id}/project-access').json()
        return list(found['project_access'])

    def get_series(self, series: Any) -> _series.Series:
        """:raises: openstack.exceptions.NotFoundException"""
        found: _series.Series = self._get(_series.Series, series)
        return found

    def delete_series(
        self, series: Any, start: str | None = None
    ) -> list[_series.Remaining]:
        """Delete the leases of a series; return those that are left.

        :param start: only leases that start then or later
        """
        series_id = resource.Resource._get_id(series)
        left = self.delete(
            f'/lease-series/{series_id}',
            params={'from': start} if start else None,
        ).json()
        return [
            _series.Remaining.existing(**each) for each in left['remaining']
        ]

    def share_series(self, series: Any, projects: Sequence[str]) -> None:
        """Let projects create servers in all leases of a series."""
        self._access('lease-series', series, 'add', projects)

    def unshare_series(self, series: Any, projects: Sequence[str]) -> None:
        self._access('lease-series', series, 'remove', projects)

    def _access(
        self,
        collection: str,
        shared: Any,
        verb: str,
        projects: Sequence[str],
        reservation_id: str | None = None,
    ) -> None:
        asked: dict[str, Any] = {'projects': [*projects]}
        if reservation_id:
            asked['reservation_id'] = reservation_id
        key = resource.Resource._get_id(shared)
        self.post(
            f'/{collection}/{key}/action',
            json={f'{verb}ProjectAccess': asked},
        )

    def hosts(self, **query: Any) -> Iterator[pool.Host]:
        """Yield the hosts that can be leased."""
        found: Iterator[pool.Host] = self._list(pool.Host, **query)
        return found

    def get_host(self, host: Any) -> pool.Host:
        found: pool.Host = self._get(pool.Host, host)
        return found

    def create_host(self, name: str, **properties: Any) -> pool.Host:
        """Enrol a compute host, by the name of its service or hypervisor."""
        host = pool.Host.new(name=name, **properties)
        return host.create(self, prepend_key=False)

    def update_host(self, host: Any, **properties: Any) -> pool.Host:
        """Change properties of a host; None takes one away."""
        host_id = resource.Resource._get_id(host)
        answer = self.put(f'/os-hosts/{host_id}', json=properties)
        return pool.Host.existing(**answer.json()['host'])

    def delete_host(self, host: Any, ignore_missing: bool = True) -> None:
        self._delete(pool.Host, host, ignore_missing=ignore_missing)

    def host_action(
        self, host: Any, action: str, arguments: Any = None
    ) -> dict[str, Any]:
        """Cordon, uncordon, drain or maintain a host; return what the API
        says about its leases and servers."""
        host_id = resource.Resource._get_id(host)
        return dict(
            self.post(
                f'/os-hosts/{host_id}/action', json={action: arguments}
            ).json()
        )

    def host_properties(self, **query: Any) -> Iterator[pool.Property]:
        """Yield the properties that leases of hosts can ask for.

        :param query: detail, for the values there are; all, for private ones
        """
        found: Iterator[pool.Property] = self._list(pool.Property, **query)
        return found

    def update_host_property(self, name: str, *, private: bool) -> None:
        self.patch(f'/os-hosts/properties/{name}', json={'private': private})

    def host_allocations(self, **query: Any) -> Iterator[pool.Allocation]:
        """Yield which reservations have each host, over time."""
        found: Iterator[pool.Allocation] = self._list(pool.Allocation, **query)
        return found

    def resources(
        self, resource_type: str, **query: Any
    ) -> Iterator[pool.Resource]:
        """Yield the resources of a type that a plugin offers."""
        return pool.Resource.list(self, resource_type=resource_type, **query)

    def resource_properties(
        self, resource_type: str, **query: Any
    ) -> Iterator[pool.Property]:
        return pool.Property.list(
            self,
            base_path='/resources/properties',
            resource_type=resource_type,
            **query,
        )

    def get_resource(self, each: Any) -> pool.Resource:
        found: pool.Resource = self._get(pool.Resource, each)
        return found

    def create_resource(self, **attrs: Any) -> pool.Resource:
        """:param attrs: resource_type, name, inventories, properties, uuid"""
        return pool.Resource.new(**attrs).create(self, prepend_key=False)

    def update_resource(self, each: Any, **attrs: Any) -> pool.Resource:
        key = resource.Resource._get_id(each)
        answer = self.put(f'/resources/{key}', json=attrs)
        return pool.Resource.existing(**answer.json()['resource'])

    def delete_resource(self, each: Any, ignore_missing: bool = True) -> None:
        self._delete(pool.Resource, each, ignore_missing=ignore_missing)

    def limits(self, **query: Any) -> dict[str, Any]:
        """Return the limits of a project, and what it has of them."""
        return dict(self.get('/limits', params=query).json()['limits'])

    def usages(self, **query: Any) -> list[dict[str, Any]]:
        """Return what leases of projects had, used and cost."""
        return list(self.get('/usage', params=query).json()['tenant_usages'])

    def host_capacity(self, **query: Any) -> list[dict[str, Any]]:
        """Return how many hosts are there, leased and free, over time."""
        return list(
            self.get('/os-hosts/capacity', params=query).json()['capacity']
        )

    def resource_capacity(self, **query: Any) -> list[dict[str, Any]]:
        """The same of resources of the type that ``resource_type`` names."""
        return list(
            self.get('/resources/capacity', params=query).json()['capacity']
        )

    def demand(self, **query: Any) -> dict[str, Any]:
        """Return a page of what was refused for lack of room."""
        return dict(self.get('/demand', params=query).json())

    def _shown(self, answer: requests.Response) -> _lease.Lease:
        return _lease.Lease.existing(
            connection=self._get_connection(), **answer.json()['lease']
        )


def _message(response: requests.Response) -> str:
    """Return the message of a refusal, which the API sends as Blazar does."""
    with contextlib.suppress(ValueError, AttributeError, KeyError):
        return str(response.json()['error_message'])
    return (
        f'{response.request.method} {response.url} was answered with '
        f'{response.status_code} {response.reason}'
    )


def is_id(text: str) -> bool:
    """Return whether the text is an ID, with dashes as those of servers, or
    without as those of projects.

    osc_lib has the same, but not yet in 2025.1.
    """
    try:
        plain = uuid.UUID(text).hex
    except ValueError:
        return False
    return text.lower() in (plain, str(uuid.UUID(plain)))
