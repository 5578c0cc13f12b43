# SPDX-License-Identifier: Apache-2.0
from collections.abc import Iterator
import contextlib

import nova.conf
import pytest

from nova_reservations import ports
from nova_reservations.tests import conftest
from nova_reservations.tests.contract import nova_world
from nova_reservations.tests.contract import services
from nova_reservations.tests.contract import worlds
from nova_reservations.tests.functional.nova import shared
from nova_reservations.types.neutron import calls as neutron_client


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run all tests that share the Nova in one process."""
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
    """The fake and Nova in turn. All tests share one Nova, which is reset."""
    if request.param == 'fake':
        return worlds.Fake()
    found: nova_world.Nova = request.getfixturevalue('_nova')
    return found


@pytest.fixture
def cloud(world: worlds.World) -> ports.Cloud:
    return world.cloud


@pytest.fixture(scope='package')
def neutron(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return the URL of a Neutron that all tests share."""
    folder = tmp_path_factory.mktemp('neutron')
    with services.running('neutron', folder) as url:
        yield url


@pytest.fixture
def asked_neutron(neutron: str) -> Iterator[str]:
    """Let the product send its requests to that Neutron."""
    with contextlib.ExitStack() as stack:
        for name, value in {
            'auth_type': 'none',
            'endpoint_override': neutron,
            'timeout': 100,
        }.items():
            nova.conf.CONF.set_override(name, value, group='neutron')
            stack.callback(
                nova.conf.CONF.clear_override, name, group='neutron'
            )
        neutron_client.client.cache_clear()
        stack.callback(neutron_client.client.cache_clear)
        yield neutron
