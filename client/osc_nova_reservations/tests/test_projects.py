# SPDX-License-Identifier: Apache-2.0
"""Other projects, by ID or name, on an API in memory."""

import types

from openstack import exceptions as sdk_exceptions
from osc_lib import exceptions
import pytest

from osc_nova_reservations import leases
from osc_nova_reservations import limits
from osc_nova_reservations import usage
from osc_nova_reservations.tests import test_limits

PHYSICS = 'a' * 32


class Identity:
    """A keystone with one project, which may forbid look-ups by name."""

    def __init__(self) -> None:
        self.forbids = False

    def find_project(self, name, ignore_missing):
        assert not ignore_missing
        if self.forbids:
            raise sdk_exceptions.ForbiddenException('You are not authorized')
        if name != 'physics':
            raise sdk_exceptions.NotFoundException(f'No Project for {name}')
        return types.SimpleNamespace(id=PHYSICS)


@pytest.fixture
def identity(manager):
    identity = Identity()
    manager.sdk_connection = types.SimpleNamespace(identity=identity)
    return identity


@pytest.mark.parametrize('project', ['physics', PHYSICS])
def test_a_lease_is_for_the_project(run, api, identity, project):
    run(leases.CreateLease, 'mine', '--hosts=1', f'--project={project}')
    [lease] = api.leases.values()
    assert lease['project_id'] == PHYSICS


def test_an_id_needs_no_keystone(run, api):
    run(leases.CreateLease, 'mine', '--hosts=1', f'--project={PHYSICS}')
    [lease] = api.leases.values()
    assert lease['project_id'] == PHYSICS


def test_windows_are_for_the_project(run, api, identity):
    api.offers = [{'start_date': '2040', 'end_date': '2041'}]
    words = ('--hosts=1', '--duration=1h', '--project=physics')
    run(leases.ListOffer, *words)
    run(leases.CreateLease, 'mine', *words, '--first-free')
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


@pytest.mark.parametrize('look', LOOKS)
def test_nothing_is_shown_of_a_name_that_is_not_found(
    run, api, identity, look
):
    with pytest.raises(exceptions.CommandError, match='give its ID'):
        run(look, '--project=chemistry')
    assert not api.queries


@pytest.mark.parametrize('forbids', [True, False])
def test_a_name_that_is_not_found_is_refused(run, api, identity, forbids):
    identity.forbids = forbids
    with pytest.raises(exceptions.CommandError, match='give its ID'):
        run(leases.CreateLease, 'mine', '--hosts=1', '--project=chemistry')
    assert not api.leases
