# SPDX-License-Identifier: Apache-2.0
"""The API takes each ``openstack lease`` command that is documented."""

import datetime
import pathlib
import runpy
from typing import Any

import pytest

from nova_reservations import ports
from nova_reservations.testing import fake_cloud
from nova_reservations.tests.functional.api import conftest

_ROOT = pathlib.Path(__file__).parents[4]
# We import nothing of the client, which is a distribution of its own.
COMMANDS = runpy.run_path(
    str(_ROOT / 'client/osc_nova_reservations/tests/documented.py')
)['commands']

HOSTS = tuple(f'compute-{number}' for number in range(1, 13))
PROJECT = '5e0e7c1f5d8b4d18a1c0a2ed1f2a37b1'
"""A project by its ID: there is no keystone that knows a name."""

LEASE = '01938f7e-5b1c-7d2e-a1f0-5e7d3c9b2a46'
SERIES = '5ad4c5a1-9f3e-4f5e-9d25-3b3d9b1f2c60'
SLOTS = {
    'resource_type': 'virtual:instance',
    **{'vcpus': 1, 'memory_mb': 512, 'disk_gb': 1, 'amount': 10},
    **{'affinity': None, 'resource_properties': ''},
}
CHANGES = frozenset({'create', 'delete', 'remove', 'series', 'set'})
UNKNOWN = 'has the name'
"""In what a command says that finds nothing of a name, and asks no more."""

AWAITED = (
    'is PENDING: none of its resources has failed',
    'only an active lease has hosts that it could release',
    'has access already',
    'resource type is not supported',
    'Not enough hosts available',
    'is enrolled already',
    'There is a resource fem',
    'before_end_date must be between',
    'is in use: it is allocated',
    'End date must be later than current and start date',
)
"""Refusals of what is right at another time in the life of a lease."""


class Watched(conftest.Person):
    """An administrator, in the project that owns the leases.

    :ivar statuses: statuses of the answers that clients have got
    """

    def __init__(self, app: Any) -> None:
        super().__init__(app, 'ours', 'admin', 'member', 'reader')
        self.statuses: list[str] = []

    def wsgi(self, environ: Any, start_response: Any) -> Any:
        def watch(status: str, *more: Any) -> Any:
            self.statuses.append(status)
            return start_response(status, *more)

        return super().wsgi(environ, watch)


@pytest.fixture
def cloud():
    cloud = fake_cloud.FakeCloud(*HOSTS)
    for name in 'm1.large', 'gpu.large':
        cloud.known_flavors[name] = ports.KnownFlavor(
            *(name, name, True, ports.Flavor(1, 512, 1), {'VCPU': 1}),
            *(frozenset(), frozenset()),
        )
    return cloud


@pytest.fixture
def settings(settings):
    types = ['physical:host', 'virtual:instance', 'flavor:instance']
    settings.set_override('resource_types', types, group='reservations')
    return settings


@pytest.fixture
def person(app, clock, licence_type, tmp_path, monkeypatch):
    """Somebody on whose cloud there is what the commands name."""
    clock.now = datetime.datetime(2027, 3, 1, tzinfo=datetime.UTC)
    monkeypatch.chdir(tmp_path)
    person = Watched(app)
    for name in HOSTS:
        person('POST', '/os-hosts', {'name': name, 'gpu': 'a100'})
    for name in 'cad', 'fem':
        licence = {
            'resource_type': licence_type,
            'name': name,
            'inventories': {'SEATS': 2},
            'properties': {'vendor': 'acme'},
        }
        assert person('POST', '/resources', licence).status_int == 201
    pathlib.Path('stack.yaml').write_text('heat_template_version: 2021-04-16')
    return person


def spoken_of(person: Watched) -> dict[str, str]:
    """Make the leases that commands name, and leave no others; return what
    the documentation has -> what stands for it."""
    for lease in person('GET', '/leases').json['leases']:
        person('DELETE', f'/leases/{lease["id"]}')
    later = {'start_date': '2027-03-02 09:00'}
    workshop = person.lease(name='workshop', **later)
    for name in 'demo', 'first':
        person.lease(name=name, **later)
    person.lease(name='builds', reservations=[SLOTS], **later)
    course = person.lease(
        name='course', repeat={'every': 'P1W', 'count': 1}, **later
    )
    [reservation] = workshop['reservations']
    shared = {'reservation_id': reservation['id'], 'project': PROJECT}
    action = f'/leases/{workshop["id"]}/action'
    person('POST', action, {'addProjectAccess': shared})
    return {
        'RESERVATION-ID': course['reservations'][0]['id'],
        LEASE: workshop['id'],
        SERIES: course['series_id'],
        **{f'physics-10{last}': f'{PROJECT[:-1]}{last}' for last in '234'},
        'physics-101': PROJECT,
        'physics': PROJECT,
        '"amount": 6': '"max": 6',
    }


@pytest.fixture
def run(openstack, person, monkeypatch):
    """Run a command; flavors and networks are named by their IDs."""
    for kind in 'flavor', 'network':
        monkeypatch.setattr(
            f'osc_nova_reservations.names.Names.{kind}', lambda _, name: name
        )
    return openstack(person, 'lease')


PARTS = 6
"""The test is cut into so many, which take a minute each."""


def typed():
    """Return the commands that can be typed as they are printed."""
    return [
        words
        for words in sorted(set(COMMANDS()))
        if not any('...' in word or '$(' in word for word in words)
    ]


@pytest.mark.parametrize('part', range(PARTS))
def test_a_documented_command_is_taken(run, person, part):
    wrong = {}
    meant = spoken_of(person)
    # What is deleted is named by others.
    for words in sorted(
        typed()[part::PARTS],
        key=lambda words: ('delete' in words, words),
    ):
        person.statuses.clear()
        # No worker makes anything active here.
        said = run(
            *(_meant(word, meant) for word in words if word != '--wait')
        )
        taken = person.statuses and person.statuses[-1] < '4'
        if UNKNOWN in said or not (taken or any(map(said.count, AWAITED))):
            wrong[words] = f'{person.statuses} {said.splitlines()[-1:]}'
        if words[0] in CHANGES:
            meant = spoken_of(person)
    assert not wrong


def _meant(word: str, meant: dict[str, str]) -> str:
    for old, new in meant.items():
        word = word.replace(old, new)
    return word
