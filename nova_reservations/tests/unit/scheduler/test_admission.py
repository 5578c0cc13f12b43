# SPDX-License-Identifier: Apache-2.0
from nova_reservations.scheduler import admission


def admitted(reservation_id):
    found = admission.Admission(reservation_id, frozenset({'ours'}))
    return {host for host in ('ours', 'other') if found.admits(host)}


def test_with_a_reservation_only_its_hosts_are_admitted():
    assert admitted('reservation') == {'ours'}


def test_hosts_but_those_of_the_pool_are_admitted_without_a_reservation():
    assert admitted(None) == {'other'}
