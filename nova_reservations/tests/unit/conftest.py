# SPDX-License-Identifier: Apache-2.0
from collections.abc import Iterator

import pytest
import sqlalchemy as sa


def _refuse(*_: object) -> None:
    pytest.fail('opens a database: the test belongs into tests/functional')


@pytest.fixture(autouse=True)
def _no_database() -> Iterator[None]:
    sa.event.listen(sa.Engine, 'do_connect', _refuse)
    yield
    sa.event.remove(sa.Engine, 'do_connect', _refuse)
