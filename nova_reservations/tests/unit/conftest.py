# SPDX-License-Identifier: Apache-2.0
from collections.abc import Iterator

from oslo_config import cfg
import pytest
import sqlalchemy as sa

from nova_reservations import conf


def _refuse(*_: object) -> None:
    pytest.fail('opens a database: the test belongs into tests/functional')


@pytest.fixture(autouse=True)
def _no_database() -> Iterator[None]:
    sa.event.listen(sa.Engine, 'do_connect', _refuse)
    yield
    sa.event.remove(sa.Engine, 'do_connect', _refuse)


@pytest.fixture
def opts() -> cfg.ConfigOpts:
    """Our options with their defaults."""
    opts = cfg.ConfigOpts()
    conf.register_opts(opts)
    opts([])
    return opts
