# SPDX-License-Identifier: Apache-2.0
from collections.abc import Iterator

import pytest

from nova_reservations.tests import conftest
from nova_reservations.tests.contract import worlds


@pytest.fixture(scope='module')
def _nova() -> Iterator[worlds.Started]:
    with pytest.MonkeyPatch.context() as patch, conftest.fast_sqlite(patch):
        nova = worlds.Started('runTest')
        nova.setUp()
        try:
            yield nova
        finally:
            nova.doCleanups()


@pytest.fixture(
    params=['fake', pytest.param('nova', marks=pytest.mark.functional)]
)
def world(request: pytest.FixtureRequest) -> Iterator[worlds.World]:
    """Each cloud in turn; the one of Nova is the same for all tests."""
    if request.param == 'fake':
        yield worlds.Fake()
        return
    nova = worlds.Nova(request.getfixturevalue('_nova'))
    yield nova
    nova.clean()
