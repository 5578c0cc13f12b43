# SPDX-License-Identifier: Apache-2.0
"""Whatever a client sends, answers match the document, and nobody sees or
changes what belongs to another project."""

import copy
import json
import random
import sqlite3
from typing import Any
from typing import TypeAlias
import uuid

from hypothesis import given
from hypothesis import HealthCheck
from hypothesis import Phase
from hypothesis import settings
from hypothesis import strategies
from oslo_utils import uuidutils
import pytest
import schemathesis
from schemathesis import checks
import sqlalchemy as sa

from nova_reservations import objects
from nova_reservations.tests import profile
from nova_reservations.tests.functional.api import conftest

pytestmark = pytest.mark.fuzz

# schemathesis has more checks, which do not apply: many requests that fit the
# schema are refused for reasons that no schema can express, and deleted
# objects may exist for a while.
CHECKS = [
    checks.not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_headers_conformance,
    checks.response_schema_conformance,
]
DRAWS = strategies.randoms(use_true_random=False)
PERSONS = ['admin', 'member', 'reader', 'nobody']
LEASE = {
    'name': 'new',
    'start_date': 'now',
    'duration': '1h',
    'reservations': [{'resource_type': 'physical:host', 'min': 1, 'max': 1}],
}
SETTINGS = settings(
    max_examples=profile.examples(100),
    derandomize=True,
    database=None,
    deadline=None,
    # A failure is reported as it was found: to shrink it takes minutes.
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)


Known: TypeAlias = dict[str, list[Any]]


class World:
    """Two projects with leases, in the state before the first request.

    Each example begins in this state, so that all of them can be repeated.

    :ivar known: parameter -> values that make sense.
    :ivar leases: name -> lease, of both projects.
    :ivar secrets: texts that only the other project, and administrators, may
        see.
    """

    def __init__(self, services, cloud, clock, uuids) -> None:
        self.services = services
        self.cloud = cloud
        self.clock = clock
        self.uuids = uuids
        self._path = sa.make_url(services.database.url).database
        self._tables = sqlite3.connect(':memory:')
        self.leases = {
            lease.name: lease
            for lease in services.lease_lists.find(objects.LeaseQuery())
        }
        hidden = self.leases['kept secret']
        self.secrets = {
            hidden.id,
            hidden.name,
            hidden.user_id,
            *(each.id for each in (*hidden.reservations, *hidden.events)),
        }
        self.known = self._known()
        self._state = copy.deepcopy((self._cloud(), clock.now, uuids.state))
        with sqlite3.connect(self._path) as connection:
            connection.backup(self._tables)

    def _cloud(self) -> dict[str, Any]:
        """Return the state of the cloud that may change."""
        return {
            name: value
            for name, value in vars(self.cloud).items()
            if isinstance(value, set | dict)
        }

    def restore(self) -> None:
        with sqlite3.connect(self._path) as connection:
            self._tables.backup(connection)
        cloud, self.clock.now, self.uuids.state = copy.deepcopy(self._state)
        vars(self.cloud).update(cloud)

    def _known(self) -> Known:
        leases = [lease.id for lease in self.leases.values()]
        reservations = [
            reservation.id
            for lease in self.leases.values()
            for reservation in lease.reservations
        ]
        return {
            'lease_id': leases,
            'marker': leases,
            'reservation_id': reservations,
            'id': reservations,
            'host_id': ['1', '2', '3'],
            'name': [*conftest.HOSTS, 'gpu', 'ours'],
            'project_id': ['ours', 'theirs'],
            'start_date': ['now', '2040-01-01 10:00'],
            'end_date': ['2040-01-01 12:00', '2050-01-01 12:00'],
            'before_end_date': [None, '2040-01-01 11:00'],
            'duration': ['1h', 60, 'P1D'],
            'min': [1],
            'max': [1, '3'],
            'hypervisor_properties': ['', '[">=", "$vcpus", "4"]'],
            'resource_properties': ['', '["==", "$gpu", "A100"]'],
            'start': ['now'],
            'end': ['2040-01-01 10:00'],
            'step': ['30d'],
        }

    def check_untouched(self, person: str) -> None:
        """Check that the leases that a person may not change are as before."""
        projects = {'admin': ('ours', 'theirs'), 'member': ('ours',)}
        for lease in self.leases.values():
            if lease.project_id not in projects.get(person, ()):
                assert self.services.leases.get(lease.id) == lease


class Uuids:
    """Distinct UUIDs that are the same in each run."""

    def __init__(self) -> None:
        self.state = 0

    def __call__(self) -> str:
        self.state += 1
        return str(uuid.uuid5(uuid.NAMESPACE_OID, str(self.state)))


@pytest.fixture
def world(
    monkeypatch,
    services,
    cloud,
    clock,
    member,
    stranger,
    enrolled,
    workers,
):
    uuids = Uuids()
    monkeypatch.setattr(uuidutils, 'generate_uuid', uuids)
    member.lease(name='ours')
    stranger.lease(name='kept secret', duration='30d')
    member.lease(name='later', start_date='2050-01-01 10:00')
    # Two steps: the start, and the event before the end.
    workers.work(seconds=2)
    return World(services, cloud, clock, uuids)


def api_of(person) -> Any:
    return schemathesis.openapi.from_wsgi(
        '/v2.1/os-reservations/v1/openapi.json', person.wsgi
    )


def with_known(part: Any, known: Known, draw: random.Random) -> Any:
    """Replace most values of known parameters by values that make sense."""
    if isinstance(part, list):
        return [with_known(each, known, draw) for each in part]
    if not isinstance(part, dict):
        return part
    return {
        key: draw.choice(known[key])
        if key in known and draw.random() < 0.8
        else with_known(value, known, draw)
        for key, value in part.items()
    }


def use_known(case: Any, known: Known, draw: random.Random) -> None:
    for place in ('path_parameters', 'query', 'body'):
        part = getattr(case, place)
        if isinstance(part, dict):
            setattr(case, place, with_known(part, known, draw))


def check_kept_secret(case: Any, response: Any, world: World) -> None:
    sent = json.dumps(
        [case.path_parameters, case.query, case.body], default=str
    )
    if response.status_code < 400:
        sent = ''
    told = {secret for secret in world.secrets if secret in response.text}
    assert not [secret for secret in told if secret not in sent]


def send(case: Any, world: World, person: str) -> Any:
    response = case.call_and_validate(checks=CHECKS)
    if person != 'admin':
        check_kept_secret(case, response, world)
    world.check_untouched(person)
    return response


@pytest.mark.parametrize('person', PERSONS)
@pytest.mark.parametrize('mode', schemathesis.GenerationMode)
def test_any_request_has_an_answer_of_the_document(
    request, world, person, mode
):
    api = api_of(request.getfixturevalue(person))

    @SETTINGS
    @given(case=api.as_strategy(generation_mode=mode), draw=DRAWS)
    def one(case, draw):
        world.restore()
        use_known(case, world.known, draw)
        send(case, world, person)

    one()


@pytest.mark.parametrize('person', PERSONS)
def test_any_chain_of_requests_has_answers_of_the_document(
    request, world, workers, person
):
    """A request may be about objects that earlier requests have made."""
    api = api_of(request.getfixturevalue(person))
    create = api['/v1/leases']['POST']
    then = api.include(path_regex='leases').as_strategy() | api.as_strategy()

    @settings(SETTINGS, max_examples=profile.examples(20))
    @given(strategies.lists(then, min_size=4, max_size=8), DRAWS)
    def many(cases, draw):
        world.restore()
        known = copy.deepcopy(world.known)
        for case in (create.Case(body=LEASE), *cases):
            use_known(case, known, draw)
            answer = send(case, world, person)
            if case.path == '/v1/leases' and answer.status_code == 201:
                made = answer.json()['lease']
                # New leases are drawn more often than the old ones.
                known['lease_id'] += [made['id']] * 6
                known['id'] += [each['id'] for each in made['reservations']]
            workers.work()

    many()
