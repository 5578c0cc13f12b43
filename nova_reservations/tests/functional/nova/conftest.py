# SPDX-License-Identifier: Apache-2.0
from collections.abc import Iterator

import pytest

from nova_reservations.tests.functional.nova import shared


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Have one process run all tests of a module that share a Nova."""
    for item in items:
        if _shares(item):
            item.add_marker(pytest.mark.xdist_group(item.path.name))


@pytest.fixture(scope='module', autouse=True)
def shared_nova_is_of_a_module() -> Iterator[None]:
    """Stop the Nova that tests of a module have shared."""
    yield
    shared.stop()


@pytest.fixture(scope='class', autouse=True)
def shared_nova_is_alone(request: pytest.FixtureRequest) -> None:
    """Stop it before tests that start another one."""
    if not _shares(request):
        shared.stop()


def _shares(test: pytest.Item | pytest.FixtureRequest) -> bool:
    return issubclass(getattr(test, 'cls', None) or object, shared.SharedNova)
