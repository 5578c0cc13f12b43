# SPDX-License-Identifier: Apache-2.0
"""The limits of a project, on an API in memory."""

from osc_nova_reservations import limits

THEIRS = 'b' * 32

ABSOLUTE = {
    'maxOpenLeases': 5,
    'openLeasesUsed': 2,
    'maxWaitingLeases': -1,
    'waitingLeasesUsed': 0,
    'maxReservedHosts': 8,
    'reservedHostsUsed': 6,
    'maxReservedSlots': -1,
    'reservedSlotsUsed': 0,
    'maxHostHours': 1000,
    'hostHoursUsed': 312,
    'maxReservedResources': {'virtual:floatingip': 10},
    'reservedResourcesUsed': {'virtual:floatingip': 3},
    'maxLeaseDuration': 604800,
    'reservationExtensionWindow': -1,
    'maxStartAhead': -1,
}


def test_limits_are_shown_with_what_is_used(run, api):
    api.limits = ABSOLUTE
    shown = run(limits.ShowLimits)
    assert shown[0] == {'Limit': 'Open leases', 'Allowed': 5, 'Used': 2}
    assert shown[5] == {
        'Limit': 'virtual:floatingip at any instant',
        'Allowed': 10,
        'Used': 3,
    }
    assert shown[6] == {
        'Limit': 'Seconds that a lease may last',
        'Allowed': 604800,
        'Used': '',
    }
    assert len(shown) == 9


def test_limits_of_another_project_are_asked_for(run, api):
    api.limits = ABSOLUTE
    run(limits.ShowLimits, f'--project={THEIRS}')
    assert api.queries[-1] == {'project_id': [THEIRS]}
