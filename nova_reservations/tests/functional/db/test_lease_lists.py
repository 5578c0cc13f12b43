# SPDX-License-Identifier: Apache-2.0
"""Lists by any filters contain the leases that a check of each lease finds."""

import operator

from hypothesis import given
from hypothesis import settings
from hypothesis import strategies
import pytest

from nova_reservations import objects
from nova_reservations.db import api
from nova_reservations.db import migration
from nova_reservations.db.leases import lease_pages
from nova_reservations.objects import states
from nova_reservations.tests import conftest
from nova_reservations.tests import profile
from nova_reservations.tests.functional.db import test_leases

FILTERS = strategies.fixed_dictionaries(
    {},
    optional={
        'statuses': strategies.lists(
            strategies.sampled_from(
                [
                    states.Lease.PENDING,
                    states.Lease.ACTIVE,
                    states.Lease.TERMINATED,
                ]
            ),
            unique=True,
        ).map(tuple),
        **{
            bound: strategies.integers(0, 9).map(
                lambda n: test_leases.NOON + test_leases.hours(n)
            )
            for bound in (
                *('start_after', 'start_before', 'end_after', 'end_before'),
                'changed_since',
            )
        },
        'project_id': strategies.sampled_from(['p', 'q']),
        'descending': strategies.booleans(),
        'sort_key': strategies.sampled_from(sorted(lease_pages.SORT_KEYS)),
    },
)


def wanted_by(query, one):
    """Return whether a lease matches the filters."""
    return (
        one.status in (query.get('statuses') or states.Lease)
        and one.project_id == query.get('project_id', one.project_id)
        and one.start_date >= query.get('start_after', test_leases.NOON)
        and one.start_date
        < query.get('start_before', test_leases.NOON + test_leases.hours(99))
        and one.end_date
        > query.get('end_after', test_leases.NOON - test_leases.hours(1))
        and one.end_date
        <= query.get('end_before', test_leases.NOON + test_leases.hours(99))
        and max(one.created_at, one.updated_at or one.created_at)
        >= query.get('changed_since', test_leases.NOON)
    )


@pytest.fixture(scope='module', params=[0, lease_pages.FEW])
def some_leases(request, tmp_path_factory):
    """Leases of all kinds, read by the query for many, and by that for few."""
    folder = tmp_path_factory.mktemp('lists')
    with conftest.empty_database('sqlite', folder) as url:
        there = api.Database(url)
        migration.sync(there)
        kinds = (
            states.Lease.PENDING,
            states.Lease.ACTIVE,
            states.Lease.TERMINATED,
        )
        new = [
            test_leases.lease(
                name=f'lease {number % 5}',
                project_id='pq'[number % 2],
                status=kinds[number % 3],
                start_date=test_leases.NOON + test_leases.hours(number % 7),
                end_date=test_leases.NOON
                + test_leases.hours(number % 7 + 1 + number % 4),
                created_at=test_leases.NOON + test_leases.hours(number % 6),
                updated_at=test_leases.NOON + test_leases.hours(number % 6 + 2)
                if number % 4
                else None,
            )
            for number in range(40)
        ]
        test_leases.store(there, *new)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(lease_pages, 'FEW', request.param)
            yield there, new
        there.dispose()


@given(query=FILTERS)
@settings(max_examples=profile.examples(60))
def test_a_list_is_what_is_wanted_in_pages_of_one_order(some_leases, query):
    there, new = some_leases
    order = [
        str(key.key)
        for key in lease_pages.SORT_KEYS[query.get('sort_key', 'created_at')]
    ]
    expected = sorted(
        (one for one in new if wanted_by(query, one)),
        key=operator.attrgetter(*order),
        reverse=query.get('descending', False),
    )
    found, after = [], None
    with there.reader() as session:
        while True:
            page, after = lease_pages.page(
                session, objects.LeaseQuery(limit=7, **query), after
            )
            found += [one.id for one in page]
            if after is None:
                break
    assert found == [one.id for one in expected]
