# SPDX-License-Identifier: Apache-2.0
"""``openstack lease calendar``, on an API in memory."""

import argparse
import datetime

from osc_lib import exceptions
import pytest

from osc_nova_reservations import dates as times
from osc_nova_reservations.calendar import command
from osc_nova_reservations.tests import fake_api

WORDS = ('--start=2027-03-01', '--end=2027-03-08', '--timezone=UTC')
HOSTS = {'id': 'r', 'resource_type': 'physical:host', 'min': 2, 'max': 2}


def dates(start, end):
    return {
        'start_date': f'2027-03-0{start}T00:00:00.000000',
        'end_date': f'2027-03-0{end}T00:00:00.000000',
    }


@pytest.fixture
def show(run, stdout, monkeypatch):
    monkeypatch.setenv('COLUMNS', '80')

    def show(*words):
        assert run(command.ShowCalendar, *WORDS, *words) is None
        return stdout.getvalue()

    return show


@pytest.fixture
def lease(api):
    return api.add([HOSTS], name='workshop', project_id='p', **dates(1, 4))


@pytest.fixture
def unnamed(api, lease):
    """Hosts as a member sees them."""
    own = {'kind': 'own', 'lease_id': lease['id'], 'reservation_id': 'r'}
    taken = {'kind': 'taken', **dates(5, 8)}
    api.unnamed = [
        {'number': 1, 'windows': [own | dates(1, 4), taken]},
        {'number': 2, 'windows': [{'kind': 'held', **dates(1, 8)}]},
        {'number': 3, 'windows': []},
    ]


def test_leases_are_drawn_with_what_they_reserve(show, api, lease):
    api.add([HOSTS], name='later', project_id='p', **dates(5, 8))['status'] = (
        'CREATING'
    )
    text = show()
    assert 'workshop [2 hosts####' in text
    assert '[2 hosts???' in text
    assert '??? a lease of your project that waits' in text
    [query] = api.queries
    assert query['start_before'] == ['2027-03-08T00:00:00+00:00']
    assert query['end_after'] == ['2027-03-01T00:00:00+00:00']
    assert 'status' not in query


def test_leases_that_are_over_are_folded_on_a_page_and_no_rows(
    show, api, lease, tmp_path
):
    lease['status'] = 'TERMINATED'
    assert 'There is nothing in this time.' in show()
    file = tmp_path / 'calendar.html'
    show(f'--html={file}')
    text = file.read_text()
    assert '<summary id="ended">Ended (1)</summary>' in text
    assert text.index('<details>') < text.index('>workshop<')


def test_members_see_hosts_by_number_on_all_pages(show, unnamed):
    text = show('--hosts')
    assert [line.split()[0:2] for line in text.splitlines()[4:7]] == [
        ['host', '1'],
        ['host', '2'],
        ['host', '3'],
    ]
    assert '[workshop####' in text
    assert '[taken-----' in text
    assert '[heldxxxxx' in text


@pytest.fixture
def having(api, show, lease):
    """Draw hosts while the lease has some of them."""

    def having(*names, rows=(1, 2)):
        today = fake_api.NOW
        days = datetime.timedelta(days=2)
        during = {
            'start_date': (today - days).strftime('%Y-%m-%dT%H:%M:%S.%f'),
            'end_date': (today + days).strftime('%Y-%m-%dT%H:%M:%S.%f'),
        }
        own = {'kind': 'own', 'lease_id': lease['id'], 'reservation_id': 'r'}
        api.unnamed = [
            {'number': row, 'windows': [own | during]} for row in rows
        ] + [{'number': 3, 'windows': []}]
        # The API tells the hosts in no order.
        hosts = [
            {'id': str(number), 'service_name': name}
            for number, name in enumerate(names, 9)
        ]
        lease['reservations'] = [HOSTS | {'hosts': hosts[::-1]}]
        text = show(
            '--hosts',
            f'--start={today - days:%Y-%m-%d}',
            f'--end={today + days:%Y-%m-%d}',
        )
        rows = [line.split('[')[0].strip() for line in text.splitlines()[4:7]]
        return rows

    return having


def test_hosts_that_own_leases_have_are_named_in_the_order_of_rows(having):
    assert having('compute-7', 'compute-8') == [
        'compute-7',
        'compute-8',
        'host 3',
    ]


@pytest.mark.parametrize('names', [(), ('compute-7',)])
def test_hosts_are_numbered_if_it_is_not_told_which_are_which(having, names):
    assert having(*names) == ['host 1', 'host 2', 'host 3']


def test_leases_of_no_whole_hosts_are_not_asked_for_their_names(
    api, having, lease, monkeypatch
):
    monkeypatch.setitem(HOSTS, 'resource_type', 'virtual:instance')
    assert having('compute-7', 'compute-8')[0] == 'host 1'
    # The list was enough.
    assert len(api.queries) == 1


def test_members_see_resources_of_a_type_by_number(show, api, unnamed):
    api.promised = [{'kind': 'taken', 'resources': 1, **dates(5, 8)}]
    text = show('--resources=example:licence')
    assert text.startswith('Resources, 2027-03-01')
    for part in 'resource 3', '[workshop####', '[taken: 1 resource--':
        assert part in text


def test_administrators_see_the_names_of_resources(show, api, lease):
    there = {'id': 'r', 'lease_id': lease['id'], **dates(1, 4)}
    cad = {'name': 'cad', 'reservations': [there], 'holds': []}
    api.allocations = [cad]
    text = show('--resources=example:licence')
    assert [line.split()[0] for line in text.splitlines()[4:5]] == ['cad']
    assert '[workshop##' in text


def test_promises_are_drawn_beside_the_hosts(show, api, unnamed):
    later = api.add([HOSTS], name='later', project_id='p', **dates(4, 7))
    own = {'kind': 'own', 'lease_id': later['id'], 'reservation_id': 'r'}
    api.promised = [
        own | dates(4, 7) | {'hosts': 2},
        {'kind': 'taken', 'hosts': 1, **dates(5, 8)},
    ]
    text = show('--hosts')
    assert text.count('promised') == 1
    assert '[later: 2 hosts##' in text
    assert '[taken: 1 host---' in text


def test_administrators_see_names_and_reasons(show, api, lease):
    other = api.add(name='theirs', project_id='q', **dates(2, 3))
    api.allocations = [
        {
            'resource_id': '1',
            'service_name': 'compute-1',
            'reservations': [
                {'id': 'r', 'lease_id': each['id'], **dates(*when)}
                for each, when in ((lease, (1, 4)), (other, (5, 6)))
            ],
            'holds': [
                {'reason': 'failed', 'start_date': None, 'end_date': None}
            ],
        }
    ]
    text = show('--hosts')
    for part in 'compute-1', '[workshop##', '[theirs', '[held: failedxxx':
        assert part in text


def test_a_page_is_written(show, unnamed, tmp_path):
    file = tmp_path / 'calendar.html'
    assert show('--hosts', f'--html={file}') == ''
    text = file.read_text()
    assert text.startswith('<!DOCTYPE html>')
    assert '1 March 2027 to 7 March 2027' in text


def test_characters_that_command_a_terminal_are_drawn_as_signs(show, api):
    api.add(name='a\x1b[2J\u202eb\ud800', project_id='p', **dates(1, 8))
    assert '\na\ufffd[2J\ufffdb\ufffd [' in show()


def test_a_file_that_can_not_be_written_is_told(show, unnamed, tmp_path):
    with pytest.raises(exceptions.CommandError, match='could not be written'):
        show('--hosts', f'--html={tmp_path}')


NOW = datetime.datetime(2027, 3, 27, 23, 30, tzinfo=datetime.UTC)


def chosen(start=None, end=None, timezone='UTC'):
    options = argparse.Namespace(start=start, end=end)
    clock = times.Clock(times.zone(timezone), NOW)
    window = command.chosen(options, clock)
    assert window.start.tzinfo == window.end.tzinfo == datetime.UTC
    return window


@pytest.mark.parametrize(
    ('start', 'end', 'zone', 'first', 'last'),
    [
        (None, None, 'UTC', '03-27T00:00', '04-10T00:00'),
        # It is the next day there, on which the clocks are put forward.
        (None, None, 'Europe/Rome', '03-27T23:00', '04-10T22:00'),
        ('2027-03-01 09:00', None, 'UTC', '03-01T09:00', '03-15T09:00'),
        (
            *('2027-03-27 09:00', '2027-03-28 09:00', 'Europe/Rome'),
            *('03-27T08:00', '03-28T07:00'),
        ),
        (
            *('2027-03-01T09:00+05:00', '2027-03-02', 'UTC'),
            *('03-01T04:00', '03-02T00:00'),
        ),
    ],
)
def test_the_window_is_two_weeks_unless_told(start, end, zone, first, last):
    window = chosen(start, end, zone)
    assert f'{window.start:%m-%dT%H:%M}' == first
    assert f'{window.end:%m-%dT%H:%M}' == last
    assert str(window.zone) == zone


@pytest.mark.parametrize(
    ('start', 'end', 'reason'),
    [
        ('soon', None, 'soon is no time, such as'),
        ('2027-03-02', '2027-03-02', '--end must be later than --start'),
        ('2027-03-02', '2029-03-02', 'at most 366 days'),
        ('9999-12-31', None, 'no leases in 9999'),
        ('1001-01-01', '1001-01-02', 'no leases in 1001'),
    ],
)
def test_a_window_without_sense_is_refused(start, end, reason):
    with pytest.raises(exceptions.CommandError, match=reason):
        chosen(start, end)


def test_the_terminal_and_the_page_show_times_of_the_zone(
    show, lease, tmp_path
):
    text = show('--timezone=Europe/Rome')
    assert text.startswith(
        'Leases, 2027-03-01 00:00 to 2027-03-08 00:00 Europe/Rome\n'
    )
    file = tmp_path / 'calendar.html'
    show('--timezone=Europe/Rome', f'--html={file}')
    text = file.read_text()
    assert '1 March 2027 to 7 March 2027, in Europe/Rome (UTC+01:00)' in text
    assert '2027-03-01 01:00 to 2027-03-04 01:00' in text


def test_hosts_and_leases_are_not_both_rows(run):
    with pytest.raises((SystemExit, argparse.ArgumentError)):
        run(command.ShowCalendar, '--hosts', '--mine')
