# SPDX-License-Identifier: Apache-2.0
"""Whatever anybody sends, answers are as the document says, and nobody sees
or touches what is another project's."""

import copy
import json
import random
import sqlite3
from typing import Any
import uuid

from hypothesis import given
from hypothesis import HealthCheck
from hypothesis import settings
from hypothesis import strategies
from oslo_utils import uuidutils
import pytest
import schemathesis
from schemathesis import checks
import sqlalchemy as sa

from nova_reservations import values
from nova_reservations.tests.functional.api import conftest

# Too many requests are refused, of those that fit the schema, for what a
# schema can't say; and what is deleted may take its time to go.
CHECKS = [
    checks.not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_headers_conformance,
    checks.response_schema_conformance,
]
PERSONS = ['admin', 'member', 'reader', 'nobody']
SETTINGS = settings(
    max_examples=250,
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)


class World:
    """What there is before anybody comes: two projects with a lease each.

    Each example begins in it, so that all of them can be repeated.

    :ivar known: parameter -> values that make sense.
    :ivar leases: id -> lease of each project.
    :ivar secrets: what only the other project, and administrators, may see.
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
            for lease in services.leases.find(values.LeaseQuery())
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
        """Return what changes in the cloud."""
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

    def _known(self) -> dict[str, list[Any]]:
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
            'name': [*conftest.HOSTS, 'gpu', *self.leases],
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
        """Check that what a person may not touch is as it was."""
        mine = {'admin': {*self.leases}, 'member': {'ours'}}.get(person, set())
        for name, lease in self.leases.items():
            if name not in mine:
                assert self.services.leases.get(lease.id) == lease


class Uuids:
    """As good as random ones, but the same again."""

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
    workers.work()
    return World(services, cloud, clock, uuids)


def api_of(person) -> Any:
    return schemathesis.openapi.from_wsgi(
        '/v2.1/os-reservations/v1/openapi.json', person.wsgi
    )


def with_known(part: Any, world: World, draw: random.Random) -> Any:
    """Put values that make sense in most of the places for them."""
    if isinstance(part, list):
        return [with_known(each, world, draw) for each in part]
    if not isinstance(part, dict):
        return part
    return {
        key: draw.choice(world.known[key])
        if key in world.known and draw.random() < 0.8
        else with_known(value, world, draw)
        for key, value in part.items()
    }


def use_known(case: Any, world: World, draw: random.Random) -> None:
    for place in ('path_parameters', 'query', 'body'):
        part = getattr(case, place)
        if isinstance(part, dict):
            setattr(case, place, with_known(part, world, draw))


def check_kept_secret(case: Any, response: Any, world: World) -> None:
    sent = json.dumps(
        [case.path_parameters, case.query, case.body], default=str
    )
    if response.status_code < 400:
        sent = ''
    told = {secret for secret in world.secrets if secret in response.text}
    assert not [secret for secret in told if secret not in sent]


@pytest.mark.parametrize('person', PERSONS)
@pytest.mark.parametrize('mode', schemathesis.GenerationMode)
def test_any_request_has_an_answer_of_the_document(
    request, world, person, mode
):
    api = api_of(request.getfixturevalue(person))

    @SETTINGS
    @given(
        case=api.as_strategy(generation_mode=mode),
        draw=strategies.randoms(use_true_random=False),
    )
    def send(case, draw):
        world.restore()
        use_known(case, world, draw)
        response = case.call_and_validate(checks=CHECKS)
        if person != 'admin':
            check_kept_secret(case, response, world)
        world.check_untouched(person)

    send()


@pytest.mark.parametrize('person', PERSONS)
def test_any_chain_of_requests_has_answers_of_the_document(
    request, world, workers, person
):
    api = api_of(request.getfixturevalue(person))

    class Machine(api.as_state_machine()):
        def setup(self):
            world.restore()
            self.draw = random.Random(1)  # noqa: S311

        def before_call(self, case):
            if case.path == '/v1/leases':
                use_known(case, world, self.draw)

        def validate_response(self, response, case, **options):
            case.validate_response(response, checks=CHECKS)
            if person != 'admin':
                check_kept_secret(case, response, world)

        def after_call(self, response, case):
            workers.work()

        def teardown(self):
            world.check_untouched(person)

    Machine.run(settings=settings(SETTINGS, max_examples=15))
