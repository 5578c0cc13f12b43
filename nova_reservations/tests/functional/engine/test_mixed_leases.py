# SPDX-License-Identifier: Apache-2.0
"""Leases of several types; any one write fails at the start and at the end."""

from collections.abc import Callable
import contextlib
import dataclasses
import itertools

from hypothesis import given
from hypothesis import HealthCheck
from hypothesis import settings
from hypothesis import strategies as st
import pytest

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.testing import addresses
from nova_reservations.testing import pools
from nova_reservations.testing import region as regions
from nova_reservations.testing import segments
from nova_reservations.testing.steps import Killed
from nova_reservations.tests import profile

pytestmark = pytest.mark.fuzz


@dataclasses.dataclass(frozen=True)
class Kind:
    """:ivar most: how many of the kind there are.
    :ivar asked: returns reservations of this many.
    :ivar given: returns how many the projects have in the cloud.
    """

    most: int
    asked: Callable[[int], list[tuple[str, dict[str, object]]]]
    given: Callable[[regions.Region], int]


def hosts_given(region):
    return len(set().union(*region.cloud.aggregate_hosts.values()))


KINDS = {
    'hosts': Kind(
        3,
        lambda number: [(objects.HOST, {'min': number, 'max': number})],
        hosts_given,
    ),
    'addresses': Kind(
        2,
        lambda number: [addresses.asked(number)],
        lambda region: len(addresses.there(region)),
    ),
    'networks': Kind(
        2,
        lambda number: [segments.asked() for _ in range(number)],
        lambda region: len(segments.there(region)),
    ),
    'volumes': Kind(
        4,
        lambda number: [pools.asked(25, number)],
        lambda region: len(pools.there(region)),
    ),
}

EVERYTHING = {name: kind.most for name, kind in KINDS.items()}

FAILURES = {
    'killed': Killed,
    'refused': lambda: exception.CloudRefused(what='It', reason='no'),
    'gone': lambda: exception.CloudUnavailable(service='It', reason='no'),
}

failures = st.tuples(st.sampled_from([*FAILURES]), st.integers(1, 16))


def ask(region, counts, **when):
    items = [
        item
        for name, number in counts.items()
        for item in KINDS[name].asked(number)
    ]
    return region.lease_of(*items, **when)


def given_of(region):
    return {
        name: number
        for name, kind in KINDS.items()
        if (number := kind.given(region))
    }


def fail_once(region, how, number):
    """Have a worker do the due work while one write fails."""
    left = itertools.count(1)

    def before(step):
        if next(left) == number:
            raise FAILURES[how]()

    region.cloud.before = before
    if how == 'killed':
        region.database.before = before
    victim = region.worker(f'victim of {region.now}', threads=1)
    with contextlib.suppress(Killed):
        victim.tick(region.now)
    victim.drain()
    region.cloud.before = region.database.before = lambda step: None


@given(
    # Reservations have the order in which these are drawn.
    counts=st.dictionaries(
        st.sampled_from([*KINDS]), st.integers(1, 4), min_size=2
    ),
    at_the_start=failures,
    at_the_end=failures,
)
@settings(
    max_examples=profile.examples(30),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_a_lease_of_several_types_is_all_or_nothing(
    make_region, counts, at_the_start, at_the_end
):
    region = make_region(
        'one',
        'two',
        'three',
        types={**addresses.TYPES, **segments.TYPES, **pools.TYPES},
        monitors={*addresses.MONITORS, *segments.MONITORS, *pools.MONITORS},
    )
    try:
        addresses.enrol(region, 101, 102)
        segments.enrol(region, 101, 102)
        pools.enrol(region, pools.FAST)
        if any(number > KINDS[name].most for name, number in counts.items()):
            with pytest.raises(exception.NotEnoughResources):
                ask(region, counts)
        else:
            lease = ask(region, counts)
            _is_all_or_nothing(region, lease, counts, at_the_start, at_the_end)
        # The lease has left nothing behind: another one can have everything.
        region.delete(ask(region, EVERYTHING, start=5))
    finally:
        region.close()


def _is_all_or_nothing(region, lease, counts, at_the_start, at_the_end):
    fail_once(region, *at_the_start)
    region.forward(until=10)
    seen = region.see(lease)
    if at_the_start[0] != 'refused':
        assert seen.status == 'ACTIVE'
    if seen.status == 'ACTIVE':
        assert given_of(region) == counts
        assert {each.status for each in seen.reservations} == {'active'}
    else:
        assert seen.status == 'ERROR'
        assert given_of(region) == {}
        assert region.hosts_of(lease) == set()
    region.now = seen.end_date
    fail_once(region, *at_the_end)
    region.forward(until=100)
    assert region.status(lease) == seen.status.replace('ACTIVE', 'TERMINATED')
    assert given_of(region) == {}
    assert region.hosts_of(lease) == set()
