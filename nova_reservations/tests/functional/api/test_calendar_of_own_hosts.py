# SPDX-License-Identifier: Apache-2.0
"""``openstack lease calendar --hosts`` names the hosts of own leases, which
the API does not do on rows: it is told by the order of both answers."""

import datetime
import types

import pytest

COMMAND = 'osc_nova_reservations.calendar.command'
TWO = {'resource_type': 'physical:host', 'min': 2, 'max': 2}


@pytest.fixture
def rows(openstack, clock, monkeypatch):
    """Draw the hosts for a person; return host -> what is drawn in its row.

    The command runs at the time of the API.
    """

    def rows(person):
        now = clock.now.replace(tzinfo=datetime.UTC)
        stopped = types.SimpleNamespace(now=lambda zone: now.astimezone(zone))
        monkeypatch.setattr(
            f'{COMMAND}.datetime',
            types.SimpleNamespace(datetime=stopped, UTC=datetime.UTC),
        )
        day = now.date()
        drawn = openstack(person, 'lease')(
            *('calendar', '--hosts', '--timezone=UTC', f'--start={day}'),
            f'--end={day + datetime.timedelta(days=3)}',
        )
        found = {}
        for line in drawn.splitlines()[4:7]:
            name, _, bars = line.partition('[')
            found[name.strip()] = bars.split('#')[0].split('-')[0]
        return found

    return rows


def names_of(person, lease):
    [shown] = person('GET', f'/leases/{lease["id"]}').json['lease'][
        'reservations'
    ]
    return {host['service_name'] for host in shown.get('hosts', ())}


def test_hosts_of_own_leases_are_named_and_are_the_right_ones(
    rows, admin, member, stranger, enrolled, workers
):
    ours = member.lease(name='ours', duration='2d', reservations=[TWO])
    stranger.lease(name='theirs', duration='2d')
    workers.work()
    names = names_of(member, ours)
    assert len(names) == 2
    shown = rows(member)
    assert {name for name in shown if shown[name] == 'ours'} == names
    [other] = set(shown) - names
    assert other in ('host 1', 'host 2', 'host 3')
    assert shown[other] == 'taken'
    # An administrator is told by name which row is which.
    known = rows(admin)
    assert {name for name in known if known[name] == 'ours'} == names
    # The order of rows is the same.
    assert [*shown].index(other) == [*known.values()].index('theirs')


def test_a_host_that_was_given_back_is_numbered_again(
    rows, member, enrolled, workers, clock
):
    lease = member.lease(name='ours', duration='2d', reservations=[TWO])
    workers.work()
    clock.forward(minutes=10)
    [reservation] = lease['reservations']
    first, second = sorted(names_of(member, lease))
    changed = {'id': reservation['id'], 'release_hosts': [first]}
    answer = member(
        'PUT', f'/leases/{lease["id"]}', {'reservations': [changed]}
    )
    assert answer.status_int == 200, answer.text
    # Its servers may still be leaving it: two rows are of the lease.
    assert {first, second}.isdisjoint(rows(member))
    workers.work(seconds=10)
    clock.forward(minutes=10)
    shown = rows(member)
    assert second in shown
    assert first not in shown


def test_leases_are_exported_as_events(openstack, member, stranger, enrolled):
    lease = member.lease(name='ours, and \xe4', duration='2d')
    stranger.lease(name='theirs')
    printed = openstack(member, 'lease')(
        *('export', '--ics=-', f'--start={lease["start_date"][:10]}')
    )
    assert printed.count('BEGIN:VEVENT') == 1
    assert f'UID:{lease["id"]}@nova-reservations' in printed
    assert 'SUMMARY:ours\\, and \xe4' in printed
