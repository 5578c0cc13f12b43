# SPDX-License-Identifier: Apache-2.0
import pytest

pytestmark = pytest.mark.usefixtures('enrolled')


def test_an_active_lease_gives_hosts_back(member, workers):
    lease = member.lease(
        reservations=[{'resource_type': 'physical:host', 'min': 3, 'max': 3}]
    )
    path, [reservation] = f'/leases/{lease["id"]}', lease['reservations']
    workers.work()

    def change(**asked):
        return member(
            'PUT', path, {'reservations': [{'id': reservation['id'], **asked}]}
        )

    for status, names in (409, ['x']), (400, 'x'), (400, ['']), (400, [1]):
        assert change(release_hosts=names).status_int == status
    answer = change(min=2, max=2)
    assert answer.status_int == 200
    [shown] = answer.json['lease']['reservations']
    assert (shown['min'], shown['max']) == (2, 2)
    assert 'release_hosts' not in shown
    assert 'given back' in change(min=3, max=3).json['error_message']
    workers.work(seconds=5)
    workers.work(seconds=5)
    assert change(min=3, max=3).status_int == 200
