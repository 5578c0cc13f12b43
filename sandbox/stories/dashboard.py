# SPDX-License-Identifier: Apache-2.0
"""Blazar's panels of Horizon work as they are."""

from collections.abc import Iterator
import contextlib
import functools
import os
import pathlib
import socket
import subprocess
from typing import Any

from lxml import html
import requests

from sandbox import person
from sandbox import story
from sandbox.polls import until
from sandbox.stories import cast
from sandbox.story import expect

_PROJECT = pathlib.Path(__file__).parents[2]

_FORM_OF_HOSTS = {
    'resource_type': 'host',
    'min_hosts': '1',
    'max_hosts': '1',
    'hypervisor_properties': '',
    'resource_properties': '',
}
_FORM_OF_INSTANCES = {
    'resource_type': 'instance',
    'amount': '2',
    'vcpus': '1',
    'memory_mb': '64',
    'disk_gb': '1',
    'affinity': 'False',
    'resource_properties': '',
}


def tell(auth_url: str, timeline: story.Timeline) -> None:
    """Lease with blazar-dashboard, unmodified."""
    told = _Dashboard(auth_url, timeline)
    with told.step('Horizon is installed, with blazar-dashboard'):
        subprocess.run([_PROJECT / 'tools' / 'venv', 'dashboard'], check=True)
    with _horizon(auth_url, timeline.directory) as url:
        told.tell(url)


class _Dashboard(cast.Cast):
    """The chapters, in the order in which they are told."""

    def tell(self, url: str) -> None:
        hosts = self.operator.hosts()[:3]
        self.enrol_all_of(hosts)
        admin, demo = _Browser(url), _Browser(url)
        with self.step('people log in'):
            until(
                'a form to log in',
                functools.partial(_answers, url),
                bool,
                120,
            )
            admin.log_in('admin')
            demo.log_in('demo')
        self.change_a_host(admin, hosts[0])
        for form in (_FORM_OF_HOSTS, _FORM_OF_INSTANCES):
            self.lease(demo, form)
        self.be_refused(demo)
        with self.step('the calendar has these hosts, and their leases') as (
            seen
        ):
            calendar = admin.calendar()
            seen(f'{len(calendar["reservations"])} bars')
            names = {
                each['hypervisor_hostname'] for each in calendar['resources']
            }
            if not {*hosts} <= names or not calendar['reservations']:
                raise person.Unexpected('a calendar', calendar)
        with self.step('leases are deleted by their buttons'):
            for key in demo.rows('/project/leases/'):
                demo.press('/project/leases/', f'leases__delete__{key}')
            until(
                'no lease',
                lambda: demo.rows('/project/leases/'),
                lambda left: not left,
            )

    def change_a_host(self, admin: '_Browser', host: str) -> None:
        with self.step('the panel of hosts lists them, and shows one') as seen:
            rows = admin.rows('/admin/hosts/')
            ((key, row),) = (
                (key, row) for key, row in rows.items() if host in row
            )
            seen(' '.join(row))
            admin.page(f'/admin/hosts/{key}/')
        with self.step('and gives it a property') as seen:
            seen(
                admin.fill(
                    f'/admin/hosts/{key}/update',
                    host_id=key,
                    values='{"rack": "r7"}',
                )
            )
            shown = body_of(self.operator, key)
            expect('rack', 'r7', shown['rack'])

    def lease(self, demo: '_Browser', form: dict[str, str]) -> None:
        name = form['resource_type']
        with self.step(f'demo fills in the form of a lease: {name}') as seen:
            form = {**form, 'name': name, 'start_date': '', 'end_date': ''}
            said = demo.fill('/project/leases/create/', **form)
            seen(said)
            if 'Success' not in said:
                raise person.Unexpected('Success', said)
            key = until(
                'ACTIVE',
                lambda: [
                    key
                    for key, row in demo.rows('/project/leases/').items()
                    if name in row and 'ACTIVE' in row
                ],
                bool,
            )[0]
        with self.step('sees it, and has another hour of it') as seen:
            demo.page(f'/project/leases/{key}/')
            before = self.demo.lease(key)['end_date']
            form = {'lease_id': key, 'lease_name': f'{name} prolonged'}
            if name == 'host':
                # For instances the panel hides the fields that Blazar can't
                # change.
                form['end_time'] = '+1h'
            seen(demo.fill(f'/project/leases/{key}/update', **form))
            after = self.demo.lease(key)
            expect('name', f'{name} prolonged', after['name'])
            expect('prolonged', name == 'host', after['end_date'] > before)

    def be_refused(self, demo: '_Browser') -> None:
        with self.step('what is wrong is told in the panel') as seen:
            wrong = {
                **_FORM_OF_HOSTS,
                **{'name': 'wrong', 'start_date': '', 'end_date': ''},
                'hypervisor_properties': '["==", "$vcpus"',
            }
            said = demo.fill('/project/leases/create/', **wrong)
            if 'Malformed requirements' not in said:
                raise person.Unexpected('Malformed requirements', said)
            seen(said)


def body_of(operator: person.Person, host: str) -> Any:
    return person.body(operator.reservation.get(f'/os-hosts/{host}'))['host']


class _Browser:
    """A browser without JavaScript, which reads forms, tables and messages of
    Horizon."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._session = requests.Session()

    def log_in(self, name: str) -> None:
        """Log in; everybody's password is their name."""
        self.fill(
            '/auth/login/',
            auth_type='credentials',
            username=name,
            password=name,
            region='default',
        )
        if 'sessionid' not in self._session.cookies:
            raise person.Unexpected('a session', name)

    def page(self, path: str) -> Any:
        """Return the HTML of a page.

        :raises Unexpected: if Horizon, or the panel, does not find what it
            shows.
        """
        answer = self._session.get(self._url + path, timeout=60)
        if answer.status_code != 200 or answer.url != self._url + path:
            raise person.Unexpected(path, answer.text)
        return html.fromstring(answer.text)

    def rows(self, path: str) -> dict[str, list[str]]:
        """Return id -> texts of its cells, from the table of a page."""
        return {
            row.get('data-object-id'): [
                cell.text_content().strip() for cell in row.findall('td')
            ]
            for row in self.page(path).iter('tr')
            if row.get('data-object-id')
        }

    def fill(self, path: str, **fields: str) -> str:
        """Fill in a form and send it; return what Horizon says then."""
        self.page(path)
        return self._send(path, fields)

    def press(self, path: str, action: str) -> str:
        return self._send(path, {'action': action})

    def calendar(self) -> Any:
        self.page('/project/leases/calendar/host/')
        return person.body(
            self._session.get(
                f'{self._url}/project/leases/calendar/host/resources.json',
                timeout=60,
            )
        )

    def _send(self, path: str, fields: dict[str, str]) -> str:
        token = self._session.cookies['csrftoken']
        answer = self._session.post(
            self._url + path,
            data={**fields, 'csrfmiddlewaretoken': token},
            headers={'Referer': self._url + path},
            timeout=60,
        )
        if answer.status_code != 200:
            raise person.Unexpected(path, answer.text)
        return ' '.join(
            ' '.join(said.text_content().split())
            for said in html.fromstring(answer.text).find_class('alert')
            # Where it says that it wants JavaScript it is another tag's.
            if said.getparent().tag != 'noscript'
            and {'alert-success', 'alert-danger'} & {*said.classes}
        )


def _answers(url: str) -> bool:
    with contextlib.suppress(requests.ConnectionError):
        return requests.get(f'{url}/auth/login/', timeout=60).ok
    return False


@contextlib.contextmanager
def _horizon(auth_url: str, directory: pathlib.Path) -> Iterator[str]:
    """Run a Horizon; yield its URL."""
    with socket.create_server(('127.0.0.1', 0)) as free:
        port = free.getsockname()[1]
    with (directory / 'log' / 'horizon.log').open('wb') as log:
        process = subprocess.Popen(
            [
                _PROJECT / '.venv-dashboard' / 'bin' / 'django-admin',
                *('runserver', '--noreload', '--insecure'),
                f'127.0.0.1:{port}',
            ],
            env={
                **os.environ,
                'DJANGO_SETTINGS_MODULE': 'sandbox.horizon',
                'PYTHONPATH': str(_PROJECT),
                'OS_AUTH_URL': auth_url,
            },
            stdout=log,
            stderr=log,
        )
    try:
        yield f'http://127.0.0.1:{port}'
    finally:
        process.terminate()
        process.wait()
