# SPDX-License-Identifier: Apache-2.0
"""Stacks: the fake behaves as a real Heat does.

The templates only have resources that need no other service than Heat.
"""

from collections.abc import Callable
from collections.abc import Iterator
from concurrent import futures
import io
import json
import threading
import time
from typing import Any
import uuid

from keystoneauth1 import exceptions as ks_exc
from keystoneauth1 import token_endpoint
import pytest
import requests

from nova_reservations import exception
from nova_reservations import ports
from nova_reservations.cloud import credentials
from nova_reservations.testing import fake_cloud
from nova_reservations.tests.contract import services
from nova_reservations.tests.contract import worlds
from nova_reservations.types.heat import client as stacks

MINE = 'b0b0b0b0000040008000000000000001'
OTHERS = 'b0b0b0b0000040008000000000000002'

_SECONDS = 60

WORD = 'OS::Heat::RandomString'


def template(**parameters: Any) -> ports.Template:
    """Return a template of one random string, and a group of two."""
    word = {'type': WORD, 'properties': {'length': {'get_param': 'length'}}}
    fixed = {'type': WORD, 'properties': {'length': 7}}
    group = {
        'type': 'OS::Heat::ResourceGroup',
        'properties': {'count': 2, 'resource_def': fixed},
    }
    text = {
        'heat_template_version': '2018-08-31',
        'parameters': {'length': {'type': 'number'}},
        'resources': {'word': word, 'group': group},
    }
    return ports.Template(json.dumps(text), {'length': 5, **parameters})


def mark() -> ports.Mark:
    """Return the mark of a new reservation, which has no stack yet."""
    return ports.Mark(str(uuid.uuid4()), worlds.DATABASE)


class FakeWorld:
    def __init__(self) -> None:
        self._cloud = fake_cloud.FakeCloud()
        self.stacks = self._cloud.stacks

    def finish(self) -> None:
        self.stacks.finish()


class HeatWorld:
    def __init__(self) -> None:
        self.stacks = stacks.Stacks()

    def finish(self) -> None:
        """Do nothing: Heat finishes its actions by itself."""


World = FakeWorld | HeatWorld


@pytest.fixture(scope='module')
def heat(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return the URL of a Heat that all tests share."""
    folder = tmp_path_factory.mktemp('heat')
    with services.running('heat', folder) as url:
        yield f'{url}/v1'


class _As(token_endpoint.Token):
    def __init__(self, url: str, project_id: str) -> None:
        super().__init__(f'{url}/{project_id}', 'a token')
        self._project_id = project_id

    def get_headers(self, *args: Any, **more: Any) -> dict[str, str]:
        return {'X-Auth-User': 'nova', 'X-Auth-Project': self._project_id}


@pytest.fixture
def asked(heat: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[HeatWorld]:
    """Let the product send its requests to the Heat."""
    monkeypatch.setattr(
        credentials,
        'plugin_for',
        lambda project_id: _As(heat, project_id),
    )
    stacks._client.cache_clear()
    yield HeatWorld()
    stacks._client.cache_clear()


@pytest.fixture(
    params=['fake', pytest.param('heat', marks=pytest.mark.functional)]
)
def world(request: pytest.FixtureRequest) -> World:
    if request.param == 'fake':
        return FakeWorld()
    found: HeatWorld = request.getfixturevalue('asked')
    return found


def eventually(world: World, holds: Callable[[], bool]) -> None:
    until = time.monotonic() + _SECONDS
    world.finish()
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.1)


def made(world: World) -> ports.Stack:
    """Return a stack that is complete."""
    its = mark()
    world.stacks.create(template(), MINE, its, worlds.go_on)
    eventually(world, lambda: state(world, its) == 'CREATE_COMPLETE')
    found = world.stacks.find(its.reservation_id, MINE)
    assert found is not None
    return found


def state(world: World, its: ports.Mark) -> str | None:
    found = world.stacks.find(its.reservation_id, MINE)
    return found and found.state


def state_of(world: World, stack: ports.Stack) -> str | None:
    found = world.stacks.find(str(stack.reservation_id), MINE)
    return found and found.state


def test_a_preview_has_all_that_would_be_made(world: World) -> None:
    [found] = world.stacks.preview([template(length=9)], MINE)
    assert sorted(
        (each.parent or '', each.name, each.kind, each.properties['length'])
        for each in found
    ) == [
        ('', 'word', WORD, 9),
        ('group', '0', WORD, 7),
        ('group', '1', WORD, 7),
    ]
    assert world.stacks.find_marked(OTHERS) == []


def test_a_template_that_can_not_be_read_is_refused(world: World) -> None:
    text = json.loads(template().text) | {'heat_template_version': 'unknown'}
    with pytest.raises(exception.CloudRefused):
        world.stacks.preview(
            [template(), ports.Template(json.dumps(text), {})], MINE
        )


def test_several_are_looked_at_in_their_order(world: World) -> None:
    templates = [template(length=length) for length in (9, 8, 6)]
    assert [
        next(each for each in found if each.parent is None).properties[
            'length'
        ]
        for found in world.stacks.preview(templates, MINE)
    ] == [9, 8, 6]


def test_no_stack_of_the_project_is_in_the_way(world: World) -> None:
    for name in 'preview', 'a':
        its = ports.Mark(name, worlds.DATABASE)
        world.stacks.create(template(), MINE, its, worlds.go_on)
    assert world.stacks.preview([template()], MINE)


def test_a_stack_bears_the_name_of_its_reservation(world: World) -> None:
    its = mark()
    assert world.stacks.find(its.reservation_id, MINE) is None
    world.stacks.create(template(), MINE, its, worlds.go_on)
    found = world.stacks.find(its.reservation_id, MINE)
    assert found is not None
    assert (found.action, found.project_id) == ('CREATE', MINE)
    assert found.name == f'reservation-{its.reservation_id}'
    assert (found.reservation_id, found.database) == (
        its.reservation_id,
        worlds.DATABASE,
    )
    assert found.id in {each.id for each in world.stacks.find_marked(MINE)}
    assert world.stacks.find(its.reservation_id, OTHERS) is None
    eventually(world, lambda: state(world, its) == 'CREATE_COMPLETE')


def test_a_stack_is_not_made_twice(world: World) -> None:
    its = mark()
    for _ in range(2):
        world.stacks.create(template(), MINE, its, worlds.go_on)
    found = world.stacks.find_marked(MINE)
    assert [each.reservation_id for each in found].count(
        its.reservation_id
    ) == 1
    eventually(world, lambda: state(world, its) == 'CREATE_COMPLETE')


def test_nothing_is_made_without_the_claim(world: World) -> None:
    its = mark()
    with pytest.raises(exception.ClaimLost):
        world.stacks.create(template(), MINE, its, worlds.lost)
    assert world.stacks.find(its.reservation_id, MINE) is None
    stack = made(world)
    with pytest.raises(exception.ClaimLost):
        world.stacks.suspend(stack, worlds.lost)
    with pytest.raises(exception.ClaimLost):
        world.stacks.delete(stack, worlds.lost)
    assert state_of(world, stack) == 'CREATE_COMPLETE'


def test_a_stack_is_suspended(world: World) -> None:
    stack = made(world)
    world.stacks.suspend(stack, worlds.go_on)
    eventually(world, lambda: state_of(world, stack) == 'SUSPEND_COMPLETE')


def test_a_stack_is_deleted_and_not_found_any_more(world: World) -> None:
    stack = made(world)
    world.stacks.delete(stack, worlds.go_on)
    eventually(world, lambda: state_of(world, stack) is None)
    assert stack.id not in {each.id for each in world.stacks.find_marked(MINE)}
    # A stack that is gone is no error.
    world.stacks.delete(stack, worlds.go_on)
    world.stacks.suspend(stack, worlds.go_on)


@pytest.mark.functional
def test_an_answer_without_end_is_not_read(
    asked: HeatWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stacks, 'LARGEST', 1000)
    with pytest.raises(exception.CloudRefused, match='more than'):
        asked.stacks.preview([template()], MINE)


class _Slow:
    """A client whose answers take half a minute, or fail after a shorter
    timeout. Its clock is ``now``."""

    def __init__(self) -> None:
        self.now = 0.0

    def request(self, *_: object, timeout: float, **__: object) -> Any:
        self.now += min(timeout, 30)
        if timeout <= 30:
            raise ks_exc.ConnectTimeout
        answer = requests.Response()
        answer.status_code = 200
        answer.raw = io.BytesIO(b'{"stack": {"resources": []}}')
        return answer


@pytest.mark.functional
def test_a_request_has_so_long_for_all_its_previews(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    slow = _Slow()
    monkeypatch.setattr(stacks, '_client', lambda _: slow)
    monkeypatch.setattr(stacks, '_clock', lambda: slow.now)
    heat = stacks.Stacks()
    assert heat.preview([template()], MINE) == [[]]
    began = slow.now
    with pytest.raises(exception.CloudSlow, match='ask for less at once'):
        heat.preview([template()] * 20, MINE)
    assert slow.now - began == stacks.FOR_PREVIEWS


@pytest.mark.functional
def test_a_heat_that_does_not_answer_in_that_time_is_slow_and_not_gone(
    asked: HeatWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stacks, 'FOR_PREVIEWS', 0)
    with pytest.raises(exception.CloudSlow):
        asked.stacks.preview([template()], MINE)


class _Hanging:
    """A client whose requests hang, and then time out."""

    def __init__(self) -> None:
        self.asked = threading.Semaphore(0)
        self.over = threading.Event()

    def request(self, *_: object, **__: object) -> Any:
        self.asked.release()
        self.over.wait()
        raise ks_exc.ConnectTimeout


@pytest.mark.functional
def test_a_heat_that_hangs_holds_up_a_few_threads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hanging = _Hanging()
    monkeypatch.setattr(stacks, '_client', lambda _: hanging)
    monkeypatch.setattr(stacks, 'PATIENCE', 0)
    heat = stacks.Stacks()
    with futures.ThreadPoolExecutor() as pool:
        waiting = [
            pool.submit(heat.find_marked, MINE) for _ in range(stacks.AT_ONCE)
        ]
        try:
            for _ in waiting:
                hanging.asked.acquire()
            with pytest.raises(exception.CloudUnavailable, match='others'):
                heat.find_marked(MINE)
        finally:
            hanging.over.set()
    errors = {type(each.exception()) for each in waiting}
    assert errors == {exception.CloudUnavailable}
    # The threads are free, so Heat is asked again.
    with pytest.raises(exception.CloudUnavailable):
        heat.find_marked(MINE)
    assert hanging.asked.acquire(timeout=0)


@pytest.mark.functional
def test_a_heat_that_is_not_there_is_not_available(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        credentials,
        'plugin_for',
        lambda project_id: _As('http://127.0.0.1:9/v1', project_id),
    )
    stacks._client.cache_clear()
    with pytest.raises(exception.CloudUnavailable):
        stacks.Stacks().find_marked(MINE)
    stacks._client.cache_clear()
