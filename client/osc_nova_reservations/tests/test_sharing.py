# SPDX-License-Identifier: Apache-2.0
"""Reservations that are shared, on an API in memory."""

from osc_lib import exceptions
import pytest

from osc_nova_reservations import leases
from osc_nova_reservations import sharing

PHYSICS = 'a' * 32


@pytest.fixture
def lease(api):
    return api.add(name='class', reservations=[{'id': 'r'}])


@pytest.mark.parametrize('key', ['name', 'id'])
def test_the_only_reservation_is_shared_and_shared_no_more(
    run, api, lease, key
):
    run(sharing.AddProject, lease[key], PHYSICS)
    run(sharing.RemoveProject, lease[key], PHYSICS)
    asked = {'reservation_id': 'r', 'project': PHYSICS}
    assert api.actions == [
        {'addProjectAccess': asked},
        {'removeProjectAccess': asked},
    ]


def test_of_several_one_is_named(run, api):
    api.add(name='class', reservations=[{'id': 'r'}, {'id': 's'}])
    with pytest.raises(exceptions.CommandError, match='--reservation'):
        run(sharing.AddProject, 'class', PHYSICS)
    assert api.actions == []
    run(sharing.AddProject, 'class', PHYSICS, '--reservation=s')
    assert api.actions[0]['addProjectAccess']['reservation_id'] == 's'


def test_projects_are_listed(run, api, lease):
    api.accesses = [{'reservation_id': 'r', 'project_id': PHYSICS}]
    assert run(sharing.ListProject, 'class') == [
        {'Reservation': 'r', 'Project': PHYSICS}
    ]


def test_leases_that_are_shared_with_the_own_project_are_listed(run, api):
    api.leases['x'] = {
        'id': 'x',
        'name': 'class',
        'status': 'ACTIVE',
        'start_date': '2040',
        'end_date': '2041',
        'reservations': [{'id': 'r'}, {'id': 's'}],
    }
    assert run(leases.ListLease, '--shared') == [
        {
            'ID': 'x',
            'Name': 'class',
            'Status': 'ACTIVE',
            'Start': '2040',
            'End': '2041',
            'Reservations': 'r, s',
        }
    ]
    assert api.queries[-1]['shared'] == ['true']
