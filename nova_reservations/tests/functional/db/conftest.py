# SPDX-License-Identifier: Apache-2.0
from collections.abc import Iterator

import pytest

from nova_reservations.db import api
from nova_reservations.tests import conftest
from nova_reservations.tests.functional.db import test_indexes


@pytest.fixture(
    scope='session',
    # One process fills the database, for all tests that examine plans.
    params=[
        pytest.param(
            backend, marks=pytest.mark.xdist_group(f'plans of {backend}')
        )
        for backend in conftest.BACKENDS
    ],
)
def filled(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[api.Database]:
    """A database with enough rows for plans to use indexes, on each kind of
    server in turn. No test changes it."""
    directory = tmp_path_factory.mktemp('filled')
    with test_indexes.filled_database(request.param, directory) as database:
        yield database
