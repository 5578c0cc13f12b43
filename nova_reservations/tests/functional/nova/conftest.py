# SPDX-License-Identifier: Apache-2.0
import collections

import pytest

from nova_reservations.tests.functional.nova import shared

FEW = 8
"""A module with fewer tests that share a Nova has no process for itself."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run all tests of a module that share a Nova in one process. Small
    modules whose Nova is configured alike also share a process."""
    sharing = [item for item in items if _shares(item)]
    sizes = collections.Counter(item.path for item in sharing)
    kinds: dict[object, str] = {}
    for item in sharing:
        group = item.path.name
        if sizes[item.path] < FEW:
            kind = shared.kind_of(item.cls)  # type: ignore[attr-defined]
            group = kinds.setdefault(kind, f'small-{len(kinds)}')
        item.add_marker(pytest.mark.xdist_group(group))


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(nextitem: pytest.Item | None) -> None:
    """Stop the shared Nova before a test that starts another Nova, or needs
    none."""
    if nextitem is None or not _shares(nextitem):
        shared.stop()


def _shares(test: pytest.Item) -> bool:
    return issubclass(getattr(test, 'cls', None) or object, shared.SharedNova)
