# SPDX-License-Identifier: Apache-2.0
"""Commands for hosts tell more than the leases that have them."""

import pytest

from osc_nova_reservations import maintenance as hosts
from osc_nova_reservations.sdk import proxy

WINDOW = ('--start=2050-12-01 08:00', '--duration=2h')


@pytest.mark.parametrize(
    ('command', 'words', 'answer', 'told'),
    [
        (hosts.DrainHost, (), {'servers': ['S']}, 'Server S is on it\n'),
        (hosts.CordonHost, (), {}, ''),
    ],
)
def test_the_lease_or_the_servers_of_a_host_are_told_beside_leases(
    run, stderr, monkeypatch, command, words, answer, told
):
    monkeypatch.setattr(
        proxy.Proxy, 'host_action', lambda *_: {'leases': [], **answer}
    )
    assert run(command, '3', *words) == []
    assert stderr.getvalue() == told


@pytest.mark.parametrize(
    'words',
    [
        ('--start=2050-12-01 08:00', '--duration=2h'),
        ('--start=2050-12-01 08:00', '--end=10:00'),
        ('--from=2050-12-01 08:00', '--until=2050-12-01 10:00'),
    ],
)
def test_a_window_of_maintenance_is_named_as_that_of_a_lease(
    run, monkeypatch, words
):
    sent = []
    monkeypatch.setattr(
        proxy.Proxy,
        'host_action',
        lambda _, *asked: sent.append(asked) or {'leases': []},
    )
    run(hosts.MaintainHost, '3', *words)
    window = {
        'from': '2050-12-01T08:00:00+00:00',
        'until': '2050-12-01T10:00:00+00:00',
    }
    assert sent == [('3', 'maintain', window)]


def test_the_window_of_maintenance_is_told(run, api, stderr, monkeypatch):
    lease = api.add(name='maintenance of h')
    answer = {'leases': [], 'lease_id': lease['id']}
    monkeypatch.setattr(proxy.Proxy, 'host_action', lambda *_: answer)
    run(hosts.MaintainHost, '3', *WINDOW)
    assert stderr.getvalue() == (
        'It is lease maintenance of h, 2040-01-01 10:00 to 2040-01-01 12:00 '
        '(UTC)\n'
    )
