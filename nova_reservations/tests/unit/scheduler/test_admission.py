# SPDX-License-Identifier: Apache-2.0
from nova_reservations.scheduler import admission


def admitted(reservation_id):
    found = admission.Admission(reservation_id, frozenset({'ours'}))
    return {host for host in ('ours', 'other') if found.admits(host)}


def test_with_a_reservation_only_its_hosts_are_admitted():
    assert admitted('reservation') == {'ours'}


def test_without_one_all_are_admitted_but_the_pool():
    assert admitted(None) == {'other'}
