# SPDX-License-Identifier: Apache-2.0
from collections.abc import Iterator

import pytest

from nova_reservations import ports
from nova_reservations.tests import conftest
from nova_reservations.tests.contract import nova_world
from nova_reservations.tests.contract import worlds
from nova_reservations.tests.functional.nova import shared


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Have one process run all tests that share the Nova."""
    for item in items:
        if item.get_closest_marker('functional') and item.path.is_relative_to(
            __file__.rpartition('/')[0]
        ):
            item.add_marker(pytest.mark.xdist_group('contract'))


@pytest.fixture(scope='package')
def _nova_is_shared() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch, conftest.fast_sqlite(patch):
        shared.stop()
        yield
        shared.stop()


@pytest.fixture
def _nova(_nova_is_shared: None) -> Iterator[nova_world.Nova]:
    nova = nova_world.Started('runTest')
    nova.setUp()
    try:
        yield nova_world.Nova(nova)
    finally:
        nova.doCleanups()


@pytest.fixture(
    params=['fake', pytest.param('nova', marks=pytest.mark.functional)]
)
def world(request: pytest.FixtureRequest) -> worlds.World:
    """Each cloud in turn; all tests share one Nova, which is as at first."""
    if request.param == 'fake':
        return worlds.Fake()
    found: nova_world.Nova = request.getfixturevalue('_nova')
    return found


@pytest.fixture
def cloud(world: worlds.World) -> ports.Cloud:
    return world.cloud
