# SPDX-License-Identifier: Apache-2.0
"""Dates of options."""

from osc_lib import exceptions
import pytest

from osc_nova_reservations import capacity
from osc_nova_reservations import demand
from osc_nova_reservations import hosts
from osc_nova_reservations import leases
from osc_nova_reservations import usage

ROME = ('mine', '--hosts=1', '--timezone=Europe/Rome')


@pytest.mark.parametrize(
    ('text', 'sent'),
    [
        ('2027-03-01 09:00', '2027-03-01T09:00:00+01:00'),
        ('2027-07-01T09:00:30', '2027-07-01T09:00:30+02:00'),
        ('2027-3-1 9:00', '2027-03-01T09:00:00+01:00'),
        ('2027-03-01', '2027-03-01T00:00:00+01:00'),
        ('2027-10-31 02:30', '2027-10-31T02:30:00+02:00'),
        ('2027-03-01T09:00Z', '2027-03-01T09:00Z'),
        ('2027-03-01T09:00:00+05:30', '2027-03-01T09:00:00+05:30'),
        ('now', 'now'),
    ],
)
def test_a_naive_date_is_in_the_zone_that_is_named(run, text, sent):
    shown = run(
        *(leases.CreateLease, *ROME, f'--start={text}', f'--end={text}'),
        f'--before-end-date={text}',
    )
    assert shown['start_date'] == sent
    assert shown['end_date'] == sent
    assert shown['before_end_date'] == sent


def test_a_naive_date_of_a_series_is_in_its_zone(run):
    shown = run(
        *(leases.CreateLease, *ROME, '--start=2027-03-20 09:00'),
        *('--duration=1h', '--repeat=weekly', '--count=2'),
    )
    assert shown['start_date'] == '2027-03-20T09:00:00+01:00'
    assert shown['repeat']['timezone'] == 'Europe/Rome'


def test_the_first_free_window_is_looked_for_in_the_zone(run, api):
    api.offers = [{'start_date': 'then'}]
    run(
        *(leases.CreateLease, *ROME, '--duration=1h', '--first-free'),
        *('--start=2027-03-20 09:00', '--start-before=2027-04-20'),
    )
    [wanted] = api.wanted
    assert wanted['start_after'] == '2027-03-20T09:00:00+01:00'
    assert wanted['start_before'] == '2027-04-20T00:00:00+02:00'


@pytest.mark.parametrize(
    ('words', 'said'),
    [
        (('--start=2027-03-28 02:30',), 'no 02:30 in Europe/Rome on 2027-03'),
        (('--start=tomorrow',), 'tomorrow is no date'),
        (('--start=0001-01-01 00:00',), 'is no date'),
        (('--timezone=Mars/Olympus',), 'no time zone Mars/Olympus'),
        (('--timezone=../Rome',), 'no time zone ../Rome'),
    ],
)
def test_a_date_that_is_not_in_the_zone_is_refused(run, api, words, said):
    with pytest.raises(exceptions.CommandError, match=said):
        run(leases.CreateLease, *ROME, *words)
    assert not api.leases


@pytest.mark.parametrize('option', ['start', 'end', 'before-end-date'])
def test_a_day_of_a_lease_is_its_midnight(run, api, option):
    api.add(name='mine')
    key = option if option.endswith('date') else f'{option}_date'
    shown = run(leases.SetLease, 'mine', f'--{option}=2027-03-01')
    assert shown[key.replace('-', '_')] == '2027-03-01 00:00'


@pytest.mark.parametrize(
    ('command', 'words'),
    [
        *(
            (leases.ListLease, (f'--{name}=2027-03-01',))
            for name in (
                *('start-after', 'start-before', 'end-before', 'end-after'),
                'changes-since',
            )
        ),
        *(
            (usage.ShowUsage, ('--all-projects', f'--{name}=2027-03-01'))
            for name in ('start', 'end')
        ),
    ],
)
def test_a_day_that_is_asked_for_is_its_midnight(run, api, command, words):
    run(command, *words)
    [query] = api.queries
    assert ['2027-03-01 00:00'] in query.values()


@pytest.mark.parametrize(
    ('command', 'words'),
    [
        (capacity.ShowCapacity, ('--start=2027-03-01', '--end=2027-03-01')),
        (demand.ListDemand, ('--start=2027-03-01', '--end=2027-03-01')),
        (
            leases.ListOffer,
            (
                *('--duration=1h', '--start-after=2027-03-01'),
                '--start-before=2027-03-01',
            ),
        ),
        (
            hosts.MaintainHost,
            ('h1', '--from=2027-03-01', '--until=2027-03-01'),
        ),
    ],
)
def test_a_day_is_its_midnight_in_all_commands(command, words):
    parsed = command(None, None).get_parser('x').parse_args(words)
    given = [*vars(parsed).values()]
    assert given.count('2027-03-01 00:00') == 2
