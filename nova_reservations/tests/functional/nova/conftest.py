# SPDX-License-Identifier: Apache-2.0
import pytest

from nova_reservations.tests.functional.nova import shared


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Have one process run all tests of a module that share a Nova."""
    for item in items:
        if _shares(item):
            item.add_marker(pytest.mark.xdist_group(item.path.name))


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(nextitem: pytest.Item | None) -> None:
    """Stop the Nova that tests share before one that starts another, or that
    needs none."""
    if nextitem is None or not _shares(nextitem):
        shared.stop()


def _shares(test: pytest.Item) -> bool:
    return issubclass(getattr(test, 'cls', None) or object, shared.SharedNova)
