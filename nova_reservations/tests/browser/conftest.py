# SPDX-License-Identifier: Apache-2.0
"""A cloud with Horizon, for all tests, and a browser for each person.

Three of four hosts are enrolled, and there are no leases, when a test begins.
"""

from collections.abc import Iterator
import contextlib
import dataclasses
import datetime
import os
import pathlib
from typing import Any

import pytest

from nova_reservations.tests.browser import browsers
from sandbox import cloud as cloud_
from sandbox import dashboard
from sandbox import person
from sandbox import polls

HERE = pathlib.Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run all tests of the cloud in one process."""
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.xdist_group('horizon'))


@dataclasses.dataclass(frozen=True)
class Cloud:
    """A cloud with Horizon, and what its users can ask without it."""

    horizon: str
    log: pathlib.Path
    policy: pathlib.Path
    operator: person.Operator
    demo: person.Person
    hosts: tuple[str, ...]

    def lease(self, name: str) -> Any:
        """Return the only lease of demo with this name."""
        (found,) = (
            each for each in self.leases(self.demo) if each['name'] == name
        )
        return found

    def leases(self, who: person.Person) -> list[Any]:
        return list(person.body(who.reservation.get('/leases'))['leases'])

    def pool(self) -> dict[str, Any]:
        """Return host -> what is known of it, if it is enrolled."""
        answer = self.operator.reservation.get('/os-hosts')
        return {
            each['hypervisor_hostname']: each
            for each in person.body(answer)['hosts']
        }

    def give(self, name: str, **fields: Any) -> Any:
        """Lease for demo, without Horizon, from tomorrow for a day."""
        start = datetime.datetime.now(datetime.UTC) + datetime.timedelta(1)
        wanted = {
            'name': name,
            'start_date': start.strftime('%Y-%m-%d %H:%M'),
            'end_date': (start + datetime.timedelta(1)).strftime(
                '%Y-%m-%d %H:%M'
            ),
            'reservations': [
                {
                    'resource_type': 'physical:host',
                    'min': 1,
                    'max': 1,
                    'hypervisor_properties': '',
                    'resource_properties': '',
                }
            ],
        }
        answer = self.demo.reservation.post('/leases', json=wanted | fields)
        return person.body(answer, 201)['lease']

    def clear(self) -> None:
        """Delete all leases, and enrol the hosts."""
        for who in (self.operator, self.demo):
            self._clear_leases(who)
        pool = self.pool()
        for host in (*pool.keys() - self.hosts, *self._marked(pool)):
            person.body(
                self.operator.reservation.delete(
                    f'/os-hosts/{pool[host]["id"]}'
                ),
                204,
            )
        for host in sorted({*self.hosts} - self.pool().keys()):
            person.body(
                self.operator.reservation.post(
                    '/os-hosts', json={'name': host}
                ),
                201,
            )

    def _clear_leases(self, who: person.Person) -> None:
        for lease in self.leases(who):
            person.body(who.reservation.delete(f'/leases/{lease["id"]}'), 204)
        polls.until(
            'no leases', lambda: self.leases(who), lambda left: not left
        )

    def _marked(self, pool: dict[str, Any]) -> list[str]:
        """Return the hosts that a test gave a property."""
        return [
            host
            for host, shown in pool.items()
            if 'rack' in shown and host in self.hosts
        ]


@pytest.fixture(scope='session')
def _cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cloud]:
    directory = tmp_path_factory.mktemp('cloud')
    with contextlib.ExitStack() as stack:
        services = stack.enter_context(
            cloud_.brought_up(directory, real=dashboard.NEEDS)
        )
        layout = services.layout
        url = stack.enter_context(dashboard.served(layout))
        operator = person.Operator(layout.auth_url)
        yield Cloud(
            url,
            layout.log / 'horizon.log',
            layout.etc / 'policy.yaml',
            operator,
            person.Person(layout.auth_url, 'demo'),
            tuple(operator.hosts()[:3]),
        )


@pytest.fixture
def cloud(_cloud: Cloud) -> Cloud:
    _cloud.clear()
    return _cloud


def _browser(cloud: Cloud, name: str) -> Iterator[browsers.Browser]:
    driver = browsers.chromium()
    try:
        opened = browsers.Browser(cloud.horizon, driver)
        opened.log_in(name)
        yield opened
    finally:
        driver.quit()


@pytest.fixture(scope='session')
def _demo(_cloud: Cloud) -> Iterator[browsers.Browser]:
    yield from _browser(_cloud, 'demo')


@pytest.fixture(scope='session')
def _admin(_cloud: Cloud) -> Iterator[browsers.Browser]:
    yield from _browser(_cloud, 'admin')


@pytest.fixture
def demo(cloud: Cloud, _demo: browsers.Browser) -> browsers.Browser:
    """The browser of a member, and the cloud that it looks at is clean."""
    return _demo


@pytest.fixture
def admin(cloud: Cloud, _admin: browsers.Browser) -> browsers.Browser:
    """The browser of the administrator."""
    return _admin


@pytest.fixture
def folder(tmp_path: pathlib.Path) -> pathlib.Path:
    """The folder that pictures for the documentation are written to."""
    return pathlib.Path(os.environ.get('NOVA_RESERVATIONS_PICTURES', tmp_path))
