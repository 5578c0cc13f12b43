# SPDX-License-Identifier: Apache-2.0
"""Re-planning reads what it can touch, and finds what it would find with all
promises before it."""

import pathlib
import tempfile
from unittest import mock

from hypothesis import given
from hypothesis import strategies as st
import pytest

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.engine import budgets
from nova_reservations.engine.booking import reach
from nova_reservations.engine.booking import replanning
from nova_reservations.objects import demand as demands
from nova_reservations.objects import interval
from nova_reservations.objects import requirements
from nova_reservations.objects import search
from nova_reservations.testing import region as regions
from nova_reservations.testing.region import minutes
from nova_reservations.tests.functional.engine import failures
from nova_reservations.tests.functional.engine import test_replanning

KINDS = 'xyz'


def of_kind(kind):
    """Return what to ask for to get one of the hosts of a kind."""
    if kind is None:
        return {}
    return {'resource_properties': f'["==", "${kind}", "yes"]'}


def enrol(region, name, kinds):
    region.add_host(name, enrol=False)
    region.enrol(name, **dict.fromkeys(kinds, 'yes'))


@pytest.fixture
def region(make_region):
    """Two hosts are alike; what is promised of the third stays there."""
    region = make_region()
    for name in 'one', 'two':
        enrol(region, name, 'x')
    region.add_host('three')
    for start in range(0, 240, 30):
        region.lease(start=start, end=start + 30, **failures.on('three'))
    for host, start in (('one', 60), ('two', 150)):
        test_replanning.put_on(region, host, start, start + 30, **of_kind('x'))
    return region


def test_promises_that_are_out_of_reach_do_not_count_as_too_many(
    region, monkeypatch
):
    monkeypatch.setattr(reach, 'ROWS', 4)
    region.lease(end=240, **of_kind('x'))


def test_with_too_many_promises_in_reach_there_is_no_search(
    region, monkeypatch
):
    monkeypatch.setattr(reach, 'ROWS', 1)
    with pytest.raises(exception.NotEnoughResources):
        region.lease(end=240, **of_kind('x'))


def wanted(region, kind):
    """Return a request for a host for the next hours."""
    properties = of_kind(kind).get('resource_properties')
    return [
        search.Wanted(
            'newcomer',
            demands.Demand(
                objects.HOST, 1, 1, requirements=requirements.parse(properties)
            ),
            interval.Interval(region.now, region.now + minutes(360)),
        )
    ]


def found(region, kind):
    """Return what a search for a host finds, or None."""
    with region.database.reader() as session:
        return replanning.find(
            session,
            region.types,
            wanted(region, kind),
            search.Search(region.now),
            replanning.SearchLimits(1000, budgets.Budget(60)),
        )


@pytest.mark.parametrize(('seconds', 'told'), [(60, True), (-1, False)])
def test_promises_that_stay_are_counted_while_there_is_time(
    make_region, seconds, told
):
    region = make_region()
    enrol(region, 'one', 'x')
    enrol(region, 'two', '')
    region.lease(start=60, end=90, **of_kind('x'))
    # It might have both, so that both are in reach.
    test_replanning.put_on(region, 'one', 150, 180)
    with region.database.reader() as session:
        promised = replanning.Promises(
            session,
            region.types,
            objects.HOST,
            search.Search(region.now),
        )
        budget = budgets.Budget(seconds)
        assert promised.is_hopeless(wanted(region, 'x'), budget) is told


def from_everywhere(session, choices, _, near, terms, real=reach.find):
    return real(session, choices, choices.usable, near, terms)


HOST = st.sets(st.sampled_from(KINDS)).map(sorted)
KIND = st.sampled_from([None, *KINDS])
PROMISE = st.tuples(st.integers(0, 3), KIND, st.integers(0, 5))


@given(
    st.lists(HOST, min_size=4, max_size=4),
    st.lists(PROMISE, min_size=4, max_size=12, unique_by=lambda it: it[::2]),
    st.sampled_from(KINDS),
)
def test_the_rest_of_the_cloud_would_change_nothing(hosts, promised, kind):
    with tempfile.TemporaryDirectory() as directory:
        factory = regions.Factory(pathlib.Path(directory))
        region = factory()
        for number, kinds in enumerate(hosts):
            enrol(region, f'host{number}', kinds)
        for number, its, hour in promised:
            if its is None or its in hosts[number]:
                test_replanning.put_on(
                    region,
                    f'host{number}',
                    60 * hour,
                    60 * hour + 60,
                    **of_kind(its),
                )
        near = found(region, kind)
        with mock.patch.object(reach, 'find', from_everywhere):
            assert near == found(region, kind)
        factory.close()
