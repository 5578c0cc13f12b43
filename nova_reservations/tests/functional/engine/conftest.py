# SPDX-License-Identifier: Apache-2.0
from collections.abc import Iterator
import pathlib

import pytest

from nova_reservations.testing import region as regions
from nova_reservations.testing.region import minutes


@pytest.fixture
def make_region(tmp_path: pathlib.Path) -> Iterator[regions.Factory]:
    """Makes regions with hosts of these names."""
    factory = regions.Factory(tmp_path)
    yield factory
    factory.close()


@pytest.fixture
def region(make_region: regions.Factory) -> regions.Region:
    """A region with three hosts, at noon."""
    return make_region('one', 'two', 'three')


@pytest.fixture
def long_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers look only now and then at what they wait long for, so that a
    test does not take a step for each second of it."""
    monkeypatch.setattr(regions.Region, 'apart', minutes(0.5))
