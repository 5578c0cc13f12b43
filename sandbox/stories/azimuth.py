# SPDX-License-Identifier: Apache-2.0
"""The requests of Azimuth's schedule operator, which is on no package index:
what it sends, and how it reads the answers."""

from collections.abc import Callable
import datetime
import json
from typing import Any

import requests

from sandbox import person
from sandbox import story
from sandbox.person import body
from sandbox.polls import until
from sandbox.stories import cast
from sandbox.story import expect

_NAME = 'az-platform'


class Chapter(cast.Cast):
    """One lease of the operator, from its creation to its deletion."""

    def __init__(self, auth_url: str, timeline: story.Timeline) -> None:
        super().__init__(auth_url, timeline)
        self._auth_url = auth_url

    def tell(self) -> None:
        with self.step('azimuth: an application credential of demo'):
            operator = _Operator(self._auth_url, self._credential())
            expect('lease', None, operator.find(_NAME))
        sizes = self._sizes()
        with self.step('a lease of two sizes from now on') as seen:
            operator.create(_NAME, dict.fromkeys(sizes, 1))
            lease = until(
                'ACTIVE',
                lambda: operator.find(_NAME),
                lambda lease: lease['status'] == 'ACTIVE',
            )
            seen(lease['status'])
        with self.step('each size leads to a flavor that is there') as seen:
            flavors = operator.flavors()
            mapped = _mapped(lease)
            expect('sizes', {*sizes}, {*mapped})
            seen(
                ', '.join(
                    f'{flavors[size]} -> {flavors[reserved]}'
                    for size, reserved in mapped.items()
                )
            )
        with self.step('a full cloud is told to the user') as seen:
            seen(operator.refusal('az-full', dict.fromkeys(sizes, 900)))
        with self.step('the lease is deleted'):
            operator.delete(lease['id'])
            until('gone', lambda: operator.find(_NAME), lambda seen: not seen)

    def _credential(self) -> Any:
        user = self.demo.reservation.get_user_id()
        answer = self.demo.identity.post(
            f'/users/{user}/application_credentials',
            json={'application_credential': {'name': 'azimuth'}},
        )
        return body(answer, 201)['application_credential']

    def _sizes(self) -> list[str]:
        """Return the flavor that there is, and another."""
        known = self.demo.ingredients['flavorRef']
        flavor = {'name': 'azimuth', 'vcpus': 2, 'ram': 256, 'disk': 1}
        answer = self.operator.compute.post(
            '/flavors', json={'flavor': flavor}
        )
        return [known, str(body(answer)['flavor']['id'])]


class _Operator:
    """The operator: a token of its credential, and URLs of the catalog."""

    def __init__(self, auth_url: str, credential: Any) -> None:
        identity: dict[str, Any] = {
            'methods': ['application_credential'],
            'application_credential': {
                key: credential[key] for key in ('id', 'secret')
            },
        }
        answer = requests.post(
            f'{auth_url}/auth/tokens',
            json={'auth': {'identity': identity}},
            timeout=60,
        )
        body(answer, 201)
        self._headers = {
            'X-Auth-Token': answer.headers['X-Subject-Token'],
            # It sends both with each request, whatever the service.
            'Content-Type': 'application/json',
            'X-OpenStack-Nova-API-Version': '2.61',
        }
        catalog = body(self._ask(requests.get, f'{auth_url}/auth/catalog'))
        self._urls = {
            service['type']: endpoint['url'].rstrip('/')
            for service in catalog['catalog']
            for endpoint in service['endpoints']
            if endpoint['interface'] == 'public'
        }

    def find(self, name: str) -> Any:
        """Return the lease of this name; it knows its leases by it."""
        answer = self._ask(requests.get, self._leases())
        for lease in body(answer)['leases']:
            if lease['name'] == name:
                return lease
        return None

    def create(self, name: str, amounts: dict[str, int]) -> None:
        answer = self._post(name, amounts)
        body(answer, 201)
        # With any other type it takes the whole answer for the lease.
        expect('type', 'application/json', answer.headers.get('Content-Type'))

    def refusal(self, name: str, amounts: dict[str, int]) -> str:
        """Return what its user reads: it tells of these two statuses only, and
        tries again for ever after any other."""
        answer = self._post(name, amounts)
        if answer.status_code not in (400, 500):
            raise person.Unexpected('400 or 500', answer.text)
        return str(answer.json()['error_message'])

    def delete(self, lease: str) -> None:
        answer = self._ask(requests.delete, f'{self._leases()}/{lease}')
        body(answer, 204)

    def flavors(self) -> dict[str, str]:
        """Return id of a flavor -> its name."""
        url = f'{self._urls["compute"]}/flavors'
        found = body(self._ask(requests.get, url))['flavors']
        return {each['id']: each['name'] for each in found}

    def _post(self, name: str, amounts: dict[str, int]) -> requests.Response:
        end = datetime.datetime.now(datetime.UTC) + cast.hours(2)
        wanted = {
            'name': name,
            'start_date': 'now',
            'end_date': f'{end:%Y-%m-%d %H:%M}',
            'reservations': [
                {
                    'amount': amount,
                    'flavor_id': flavor,
                    'resource_type': 'flavor:instance',
                    'affinity': 'None',
                }
                for flavor, amount in amounts.items()
            ],
            'events': [],
            'before_end_date': None,
        }
        return self._ask(requests.post, self._leases(), json=wanted)

    def _leases(self) -> str:
        return f'{self._urls["reservation"]}/leases'

    def _ask(
        self, method: Callable[..., requests.Response], url: str, **more: Any
    ) -> requests.Response:
        return method(url, headers=self._headers, timeout=60, **more)


def _mapped(lease: Any) -> dict[str, str]:
    """Return size -> id of the flavor that is reserved for it."""
    return {
        json.loads(each['resource_properties'])['id']: each['id']
        for each in lease['reservations']
        if each['resource_type'] == 'flavor:instance'
    }
