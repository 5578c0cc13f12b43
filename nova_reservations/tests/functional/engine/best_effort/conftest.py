# SPDX-License-Identifier: Apache-2.0
"""Clouds with hosts that can be emptied."""

import pytest

from nova_reservations.testing.region import minutes


@pytest.fixture
def make_clouds(make_region):
    """Makes regions with one host in the pool, drainable ones and another."""

    def make(*names, servers=1, **options):
        region = make_region(
            'one',
            best_effort_aggregate='drainable',
            **{'best_effort_timeout': minutes(0.5)} | options,
        )
        region.add_host('away', enrol=False)
        region.add_drainable(*names, servers=servers)
        return region

    return make


@pytest.fixture
def region(make_clouds):
    return make_clouds('green', 'red')
