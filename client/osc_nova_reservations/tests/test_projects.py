# SPDX-License-Identifier: Apache-2.0
"""Other projects, by ID or name, on an API in memory."""

from osc_lib import exceptions
import pytest

from osc_nova_reservations import create
from osc_nova_reservations import leases
from osc_nova_reservations import limits
from osc_nova_reservations import usage
from osc_nova_reservations.tests import test_create
from osc_nova_reservations.tests import test_limits
from osc_nova_reservations.tests.identity import PHYSICS


@pytest.mark.parametrize('project', ['physics', PHYSICS])
def test_a_lease_is_for_the_project(run, api, identity, project):
    run(create.CreateLease, 'mine', '--hosts=1', f'--project={project}')
    [lease] = api.leases.values()
    assert lease['project_id'] == PHYSICS


def test_an_id_needs_no_keystone(run, api):
    run(create.CreateLease, 'mine', '--hosts=1', f'--project={PHYSICS}')
    [lease] = api.leases.values()
    assert lease['project_id'] == PHYSICS


def test_windows_are_for_the_project(run, api, identity):
    api.offers = [test_create.OFFER]
    words = ('--hosts=1', '--duration=1h', '--project=physics')
    run(create.ListOffer, *words)
    run(create.CreateLease, 'mine', *words, '--first-free')
    assert [each['project_id'] for each in api.wanted] == [PHYSICS, PHYSICS]
    [lease] = api.leases.values()
    assert lease['project_id'] == PHYSICS


LOOKS = [
    limits.ShowLimits,
    usage.ShowUsage,
    leases.ListLease,
]


@pytest.mark.parametrize('look', LOOKS)
@pytest.mark.parametrize('project', ['physics', PHYSICS])
def test_lists_and_numbers_are_of_the_project_that_is_named(
    run, api, identity, look, project
):
    api.limits = test_limits.ABSOLUTE
    run(look, f'--project={project}')
    assert api.queries[-1]['project_id'] == [PHYSICS]


def test_names_of_projects_are_shown_to_those_who_may_know_them(
    run, api, identity
):
    api.add(name='mine', project_id=PHYSICS)
    [row] = run(leases.ListLease)
    assert row['Project'] == 'physics'
    identity.forbids = True
    [row] = run(leases.ListLease)
    assert row['Project'] == PHYSICS


@pytest.mark.parametrize('look', LOOKS)
def test_nothing_is_shown_of_a_name_that_is_not_found(
    run, api, identity, look
):
    with pytest.raises(exceptions.CommandError, match='give its ID'):
        run(look, '--project=biology')
    assert not api.queries


@pytest.mark.parametrize('forbids', [True, False])
def test_a_name_that_is_not_found_is_refused(run, api, identity, forbids):
    identity.forbids = forbids
    with pytest.raises(exceptions.CommandError, match='give its ID'):
        run(create.CreateLease, 'mine', '--hosts=1', '--project=biology')
    assert not api.leases
