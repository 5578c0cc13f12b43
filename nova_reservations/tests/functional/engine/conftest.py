# SPDX-License-Identifier: Apache-2.0
from collections.abc import Iterator
import pathlib

import pytest

from nova_reservations.db import api
from nova_reservations.db import migration
from nova_reservations.tests import region as regions


@pytest.fixture(scope='session')
def template(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A file of SQLite with our tables, to be copied."""
    file = tmp_path_factory.mktemp('template') / 'template.db'
    database = api.Database(f'sqlite:///{file}')
    migration.sync(database)
    database.dispose()
    return file


@pytest.fixture
def make_region(
    template: pathlib.Path, tmp_path: pathlib.Path
) -> Iterator[regions.Factory]:
    """Makes regions with hosts of the names that it is called with."""
    factory = regions.Factory(template, tmp_path)
    yield factory
    factory.close()


@pytest.fixture
def region(make_region: regions.Factory) -> regions.Region:
    """A region with three hosts, at noon."""
    return make_region('one', 'two', 'three')
