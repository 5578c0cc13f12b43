# SPDX-License-Identifier: Apache-2.0
"""The commands for series, on an API in memory."""

import uuid

from osc_lib import exceptions
import pytest

from osc_nova_reservations import leases
from osc_nova_reservations import series

COURSE = ('course', '--hosts=1', '--start=2040-01-01 10:00', '--duration=1h')


def create(run, *words):
    return run(leases.CreateLease, *COURSE, *words)


def test_creates_a_series(run, api):
    shown = create(
        run, '--repeat=weekly', '--count=3', '--timezone=Europe/Rome'
    )
    assert shown['repeat'] == {
        'every': 'P1W',
        'count': 3,
        'timezone': 'Europe/Rome',
    }
    assert shown['leases'].splitlines() == [
        f'{lease_id} 2040-01-01T10:00:00+01:00' for lease_id in api.leases
    ]
    assert shown['refused'] == ''


def test_shows_what_was_refused(run):
    shown = create(run, '--repeat=daily', '--count=3', '--partial')
    assert shown['repeat'] == {'every': 'P1D', 'count': 3, 'partial': True}
    assert len(shown['leases'].splitlines()) == 2
    assert shown['refused'] == 'then it is full'


@pytest.mark.parametrize(
    ('words', 'said'),
    [
        (['--repeat=weekly'], 'needs --count'),
        (['--count=3'], 'need --repeat'),
        (['--partial'], 'need --repeat'),
        (['--repeat=weekly', '--count=3', '--first-free'], 'single lease'),
    ],
)
def test_says_which_options_go_together(run, api, words, said):
    with pytest.raises(exceptions.CommandError, match=said):
        create(run, *words)
    assert not api.leases


def test_knows_days_and_weeks(run):
    with pytest.raises(SystemExit):
        create(run, '--repeat=monthly', '--count=3')


def test_a_dry_run_is_shown_as_well(run, api):
    shown = create(run, '--repeat=daily', '--count=2', '--dry-run')
    assert shown['id'] == 'none'
    assert not api.leases


def of_series(api, *statuses):
    its = str(uuid.uuid4())
    for status in statuses:
        lease = api.add(
            name='course', series_id=its, start_date='a', end_date='b'
        )
        lease['status'] = status
    return its


def test_shows_the_leases_of_a_series(run, api):
    its = of_series(api, 'ACTIVE', 'PENDING')
    of_series(api, 'PENDING')
    shown = run(series.ShowSeries, its)
    assert [row['ID'] for row in shown] == [*api.leases][:2]
    assert [row['Status'] for row in shown] == ['ACTIVE', 'PENDING']


def test_deletes_a_series_and_shows_what_is_left(run, api):
    its = of_series(api, 'ACTIVE', 'PENDING')
    [left] = run(series.DeleteSeries, its)
    assert left['Status'] == 'ACTIVE'
    assert [*api.leases] == [left['ID']]


@pytest.mark.parametrize('command', [series.ShowSeries, series.DeleteSeries])
def test_asks_for_an_id(run, command):
    with pytest.raises(exceptions.CommandError, match='series_id'):
        run(command, '../leases')
    with pytest.raises(exceptions.CommandError, match='not here'):
        run(command, str(uuid.uuid4()))
