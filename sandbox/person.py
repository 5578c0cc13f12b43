# SPDX-License-Identifier: Apache-2.0
"""The users of a cloud, who send plain HTTP requests."""

from collections.abc import Mapping
import datetime
import functools
from typing import Any
import urllib.parse

from keystoneauth1 import adapter
from keystoneauth1 import session
from keystoneauth1.identity import v3
import requests

POOL_TRAIT = 'CUSTOM_NOVA_RESERVATIONS_POOL'


class Unexpected(Exception):
    """The cloud did something else than it should."""

    def __init__(self, expected: object, seen: object) -> None:
        super().__init__(f'expected {expected}, saw {seen}')
        self.expected = expected
        self.seen = seen


def body(answer: requests.Response, status: int = 200) -> Any:
    """Return the body of an answer, None if it is empty.

    :raises Unexpected: if it has another status than it should have.
    """
    if answer.status_code != status:
        raise Unexpected(
            f'{status} from {answer.request.method} {answer.url}',
            f'{answer.status_code}: {answer.text}',
        )
    return answer.json() if answer.content else None


def no_room(answer: requests.Response) -> bool:
    """Return whether a lease was refused because too little is free."""
    return answer.status_code == 400 and bool(
        answer.json().get('error_kind') == 'no_room'
    )


def found(answer: requests.Response) -> Any:
    """Return the body of an answer, None for status 404.

    :raises Unexpected: if it has another status than 200 and 404.
    """
    return None if answer.status_code == 404 else body(answer)


class Person:
    """A user whose name is also the name of the project, and the password.

    Methods that send a request return its answer, even if it is a refusal, so
    that the caller can check it.
    """

    def __init__(self, auth_url: str, name: str) -> None:
        self.name = name
        self._session = session.Session(
            v3.Password(
                auth_url,
                username=name,
                password=name,
                user_domain_name='Default',
                project_name=name,
                project_domain_name='Default',
            )
        )
        self.compute = self._adapter('compute', '2.90')
        self.image = self._adapter('image')
        self.placement = self._adapter('placement', '1.39')
        self.reservation = self._adapter('reservation')
        self.network = self._adapter('network')
        self.volume = self._adapter('block-storage', '3.60')
        self.orchestration = self._adapter('orchestration')

    def _adapter(
        self, service_type: str, microversion: str | None = None
    ) -> adapter.Adapter:
        return adapter.Adapter(
            self._session,
            service_type=service_type,
            default_microversion=microversion,
            raise_exc=False,
        )

    @functools.cached_property
    def identity(self) -> adapter.Adapter:
        return self._adapter('identity')

    @functools.cached_property
    def ingredients(self) -> dict[str, str]:
        """The first image and the first flavor of the cloud, for servers."""
        image, *_ = body(self.image.get('/v2/images'))['images']
        flavor, *_ = body(self.compute.get('/flavors'))['flavors']
        return {'imageRef': image['id'], 'flavorRef': flavor['id']}

    def boot(
        self, name: str, reservation: str = '', **fields: object
    ) -> requests.Response:
        """Ask for a server without a network, in a reservation or not."""
        server = self.ingredients | {'name': name, 'networks': 'none'}
        request: dict[str, object] = {'server': server | fields}
        if reservation:
            request['os:scheduler_hints'] = {'reservation': reservation}
        return self.compute.post('/servers', json=request)

    def server(self, server: str) -> Any:
        """Return a server, None if it is gone."""
        answer = found(self.compute.get(f'/servers/{server}'))
        return answer and answer['server']

    def ask_lease(
        self,
        name: str,
        start: datetime.datetime | None,
        end: datetime.datetime,
        hosts: int,
    ) -> requests.Response:
        """Ask for a lease of so many hosts, from now if start is None."""
        return self.ask_lease_of(
            name,
            start,
            end,
            {
                'resource_type': 'physical:host',
                'min': hosts,
                'max': hosts,
                'hypervisor_properties': '',
                'resource_properties': '',
            },
        )

    def ask_lease_of(
        self,
        name: str,
        start: datetime.datetime | None,
        end: datetime.datetime,
        reservation: Mapping[str, Any],
    ) -> requests.Response:
        return self.reservation.post(
            '/leases',
            json={
                'name': name,
                'start_date': start.isoformat() if start else 'now',
                'end_date': end.isoformat(),
                'reservations': [reservation],
            },
        )

    def lease(self, lease: str) -> Any:
        """Return a lease, None if it is gone.

        Administrators are shown deleted leases, too; these count as gone.
        """
        answer = found(self.reservation.get(f'/leases/{lease}'))
        if answer is None or answer['lease'].get('deleted'):
            return None
        return answer['lease']

    def usages(self) -> list[Any]:
        """Return what each lease of the project had and used this month."""
        project = self.reservation.get_project_id()
        answer = self.reservation.get(
            f'/usage?detailed=1&project_id={project}'
        )
        return [
            lease
            for usage in body(answer)['tenant_usages']
            for lease in usage['lease_usages']
        ]


class Operator(Person):
    """The user admin, who sees hosts, aggregates and placement."""

    def __init__(self, auth_url: str) -> None:
        super().__init__(auth_url, 'admin')

    def hosts(self) -> list[str]:
        """Return the names of all compute hosts, sorted."""
        hypervisors = body(self.compute.get('/os-hypervisors'))['hypervisors']
        return sorted(each['hypervisor_hostname'] for each in hypervisors)

    def conductors(self) -> list[str]:
        """Return the hosts with a nova-conductor."""
        services = body(self.compute.get('/os-services?binary=nova-conductor'))
        return [each['host'] for each in services['services']]

    def set_compute(self, host: str, status: str) -> None:
        """Enable or disable a compute host."""
        for service in self._computes(host):
            body(
                self.compute.put(
                    f'/os-services/{service["id"]}', json={'status': status}
                )
            )

    @functools.cached_property
    def root(self) -> adapter.Adapter:
        """An adapter for paths beside the API of Nova, on the same socket."""
        endpoint = urllib.parse.urlsplit(str(self.compute.get_endpoint()))
        return adapter.Adapter(
            self._session,
            endpoint_override=f'{endpoint.scheme}://{endpoint.netloc}',
            raise_exc=False,
        )

    def force_down(self, host: str, down: bool) -> None:
        """Set or clear forced_down of a compute host."""
        for service in self._computes(host):
            body(
                self.compute.put(
                    f'/os-services/{service["id"]}', json={'forced_down': down}
                )
            )

    def disable(self, host: str, disabled: bool) -> None:
        """Disable or enable a compute host for new servers."""
        status = 'disabled' if disabled else 'enabled'
        for service in self._computes(host):
            body(
                self.compute.put(
                    f'/os-services/{service["id"]}', json={'status': status}
                )
            )

    def delete_compute(self, host: str) -> bool:
        """Delete the compute service of a host from Nova, and all servers on
        the host before; return whether Nova has done so."""
        servers = body(self.compute.get(f'/servers?all_tenants=1&host={host}'))
        for server in servers['servers']:
            self.compute.delete(f'/servers/{server["id"]}')
        for service in self._computes(host):
            answer = self.compute.delete(f'/os-services/{service["id"]}')
            # A server may still be on the host.
            if answer.status_code != 409:
                body(answer, 204)
        return not self._computes(host)

    def _computes(self, host: str) -> Any:
        return body(
            self.compute.get(f'/os-services?binary=nova-compute&host={host}')
        )['services']

    def enrolled(self) -> dict[str, str]:
        """Return the names of the reservable hosts by their id."""
        hosts = body(self.reservation.get('/os-hosts'))['hosts']
        return {each['id']: each['hypervisor_hostname'] for each in hosts}

    def servers_on(self, host: str) -> list[str]:
        """Return the names of all servers on a host."""
        servers = body(
            self.compute.get(f'/servers/detail?all_tenants=1&host={host}')
        )['servers']
        return [each['name'] for each in servers]

    def aggregates(self) -> dict[str, Any]:
        """Return Nova's aggregates by their name."""
        aggregates = body(self.compute.get('/os-aggregates'))['aggregates']
        return {each['name']: each for each in aggregates}

    def provider(self, host: str, what: str) -> Any:
        """Return one kind of data that placement has of a host's provider.

        :param host: the name of any provider
        :param what: aggregates, allocations, inventories or traits
        """
        (provider,) = body(
            self.placement.get(f'/resource_providers?name={host}')
        )['resource_providers']
        return body(
            self.placement.get(
                f'/resource_providers/{provider["uuid"]}/{what}'
            )
        )[what]
