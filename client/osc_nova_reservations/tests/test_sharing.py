# SPDX-License-Identifier: Apache-2.0
"""Reservations that are shared, on an API in memory."""

from osc_lib import exceptions
import pytest

from osc_nova_reservations import create
from osc_nova_reservations import leases
from osc_nova_reservations import sharing
from osc_nova_reservations.tests.identity import CHEMISTRY
from osc_nova_reservations.tests.identity import PHYSICS


@pytest.fixture
def lease(api):
    return api.add(name='class', reservations=[{'id': 'r'}])


@pytest.mark.parametrize('key', ['name', 'id'])
def test_a_lease_is_shared_with_projects_and_no_more(
    run, api, lease, identity, key
):
    run(sharing.AddProject, lease[key], 'physics,chemistry')
    run(sharing.AddProject, lease[key], 'physics', 'chemistry')
    run(sharing.RemoveProject, lease[key], PHYSICS)
    assert api.actions == [
        {'addProjectAccess': {'projects': [PHYSICS, CHEMISTRY]}},
        {'addProjectAccess': {'projects': [PHYSICS, CHEMISTRY]}},
        {'removeProjectAccess': {'projects': [PHYSICS]}},
    ]


def test_a_reservation_of_a_lease_can_be_named(run, api, lease):
    run(sharing.AddProject, 'class', PHYSICS, '--reservation=s')
    assert api.actions == [
        {'addProjectAccess': {'projects': [PHYSICS], 'reservation_id': 's'}}
    ]


def test_a_lease_is_shared_in_the_command_that_makes_it(run, api, identity):
    words = ('mine', '--hosts=1', '--share-with=physics')
    run(create.CreateLease, *words, '--dry-run')
    assert not api.actions
    run(create.CreateLease, *words)
    assert api.actions == [{'addProjectAccess': {'projects': [PHYSICS]}}]


def test_nothing_is_made_for_a_project_that_is_not_there(run, api, identity):
    with pytest.raises(exceptions.CommandError, match='no project biology'):
        run(create.CreateLease, 'mine', '--hosts=1', '--share-with=biology')
    assert not api.leases


def test_projects_are_listed_by_their_names(run, api, lease, identity):
    api.accesses = [{'reservation_id': 'r', 'project_id': PHYSICS}]
    assert run(sharing.ListProject, 'class') == [
        {'Project': 'physics', 'Reservation': 'r'}
    ]


def test_leases_that_are_shared_with_the_own_project_are_listed(run, api):
    api.leases['x'] = {
        'id': 'x',
        'name': 'class',
        'status': 'ACTIVE',
        'start_date': '2040-01-01T10:00:00',
        'end_date': '2041-01-01T10:00:00',
        'reservations': [{'id': 'r'}, {'id': 's'}],
    }
    [row] = run(leases.ListLease, '--shared', '-f', 'table')
    assert [*row] == ['ID', 'Name', 'Start']
    assert (row['ID'], row['Name']) == ('x', 'class')
    assert api.queries[-1]['shared'] == ['true']
