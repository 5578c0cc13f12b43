# SPDX-License-Identifier: Apache-2.0
"""The commands for series, on an API in memory."""

import json
import uuid

from osc_lib import exceptions
import pytest

from osc_nova_reservations import create
from osc_nova_reservations import series
from osc_nova_reservations.tests.identity import PHYSICS

COURSE = ('course', '--hosts=1', '--start=2040-01-01 10:00', '--duration=1h')


def made(run, *words):
    return run(create.CreateLease, *COURSE, *words)


@pytest.mark.parametrize(
    ('words', 'repeat'),
    [
        (('--repeat=weekly', '--count=3'), {'every': 'P1W', 'count': 3}),
        (
            ('--repeat=daily', '--until=2040-01-05'),
            {'every': 'P1D', 'until': '2040-01-05'},
        ),
        (
            (
                *('--repeat=mon,Wednesday', '--count=30'),
                *('--except=2040-04-02,2040-04-04',),
            ),
            {
                'every': 'P1W',
                'weekdays': ['MO', 'WE'],
                'count': 30,
                'except': ['2040-04-02', '2040-04-04'],
            },
        ),
    ],
)
def test_a_series_is_asked_for_in_words(run, api, words, repeat):
    made(run, *words, '--timezone=Europe/Rome')
    [sent] = api.sent
    assert sent['repeat'] == repeat | {'timezone': 'Europe/Rome'}
    assert sent['start_date'] == '2040-01-01T10:00:00+01:00'


def test_a_series_is_shown_with_what_was_refused(run, api):
    shown = made(run, '--repeat=daily', '--count=3', '--partial')
    assert shown['id'] == next(iter(api.leases.values()))['series_id']
    assert len(shown['leases']) == 2
    assert [each['reason'] for each in shown['refused']] == ['it is full']


@pytest.mark.parametrize(
    ('words', 'said'),
    [
        (['--repeat=weekly'], 'needs --count or --until'),
        (['--repeat=weekly', '--count=3', '--until=2041-01-01'], 'not both'),
        (['--count=3'], '--count needs --repeat'),
        (['--until=2041-01-01'], '--until needs --repeat'),
        (['--except=2041-01-01'], '--except needs --repeat'),
        (['--partial'], '--partial needs --repeat'),
        (['--repeat=monthly', '--count=3'], 'give daily, weekly, or weekdays'),
        (['--repeat=weekly', '--count=3', '--first-free'], 'single lease'),
        (['--repeat=weekly', '--count=3', '--wait'], 'single lease'),
    ],
)
def test_says_which_options_go_together(run, api, words, said):
    with pytest.raises(exceptions.CommandError, match=said):
        made(run, *words)
    assert not api.leases


def test_a_dry_run_is_shown_without_an_id(run, api):
    shown = made(run, '--repeat=daily', '--count=2', '--dry-run')
    assert 'id' not in shown
    assert not api.leases


def of_series(api, *statuses, name='course'):
    its = str(uuid.uuid4())
    for day, status in enumerate(statuses, 1):
        lease = api.add(
            *([{'id': 'h', 'resource_type': 'physical:host'}],),
            name=name,
            series_id=its,
            start_date=f'2040-01-{day:02}T10:00:00',
            end_date=f'2040-01-{day:02}T12:00:00',
        )
        lease['status'] = status
    return its


def test_series_are_listed_once_each(run, api):
    its = of_series(api, 'TERMINATED', 'ACTIVE', 'PENDING')
    of_series(api, 'TERMINATED')
    api.add(name='other')
    [row] = run(series.ListSeries)
    assert (row['ID'], row['Name'], row['Leases']) == (its, 'course', 2)
    assert row['Next start'] == '2040-01-02T10:00:00Z'
    assert row['Last end'] == '2040-01-03T12:00:00Z'


@pytest.mark.parametrize('by', ['id', 'name'])
def test_shows_the_leases_of_a_series(run, api, by):
    its = of_series(api, 'ACTIVE', 'PENDING')
    of_series(api, 'PENDING', name='other')
    shown = run(series.ShowSeries, its if by == 'id' else 'course')
    assert [row['ID'] for row in shown] == [*api.leases][:2]
    assert [row['Status'] for row in shown] == ['ACTIVE', 'PENDING']


def test_deletes_a_series_and_shows_what_is_left(run, api):
    its = of_series(api, 'ACTIVE', 'PENDING')
    [left] = run(series.DeleteSeries, its)
    assert left['Status'] == 'ACTIVE'
    assert [each['status'] for each in api.leases.values()] == ['ACTIVE']


def test_deletes_from_a_day_on(run, api):
    of_series(api, 'PENDING', 'PENDING')
    run(series.DeleteSeries, 'course', '--from=2040-01-02')
    assert api.queries[-1] == {'from': ['2040-01-02T00:00:00+00:00']}


def test_leases_of_a_series_are_changed_from_a_day_on(run, api):
    of_series(api, 'TERMINATED', 'PENDING', 'PENDING', 'PENDING')
    words = ('--from=2040-01-03', '--later=1h', '--hosts=2')
    changed = run(series.SetSeries, 'course', *words)
    assert [row['Start'] for row in changed] == [
        '2040-01-03T11:00:00Z',
        '2040-01-04T11:00:00Z',
    ]
    starts = [each['start_date'] for each in api.leases.values()]
    assert [start[11:13] for start in starts] == ['10', '10', '11', '11']


def test_the_leases_of_one_day_are_changed_or_deleted(run, api):
    of_series(api, 'PENDING', 'PENDING', 'PENDING')
    [changed] = run(
        *(series.SetSeries, 'course', '--on=2040-01-02', '--later=5h'),
    )
    assert changed['Start'] == '2040-01-02T15:00:00Z'
    assert run(series.DeleteSeries, 'course', '--on=2040-01-02') == []
    days = [each['start_date'][8:10] for each in api.leases.values()]
    assert days == ['01', '03']


@pytest.mark.parametrize('command', [series.SetSeries, series.DeleteSeries])
def test_a_day_without_a_lease_is_told(run, api, command):
    of_series(api, 'PENDING', 'TERMINATED')
    with pytest.raises(exceptions.CommandError, match='No lease of the serie'):
        run(command, 'course', '--on=2040-01-02')


def test_no_lease_of_a_series_is_changed_if_one_can_not_be(run, api):
    of_series(api, 'PENDING', 'PENDING')
    before = json.dumps(api.leases)
    api.cannot_change = [*api.leases][1]
    with pytest.raises(exceptions.CommandError, match='Nothing is changed: t'):
        run(series.SetSeries, 'course', '--later=1h')
    assert json.dumps(api.leases) == before


@pytest.mark.parametrize('command', [series.ShowSeries, series.DeleteSeries])
def test_a_series_that_is_not_there_is_told(run, command):
    with pytest.raises(exceptions.CommandError, match='lease series list'):
        run(command, '../leases')
    with pytest.raises(exceptions.CommandError, match='not here'):
        run(command, str(uuid.uuid4()))


def test_a_name_of_several_series_is_refused_with_their_ids(run, api):
    one, two = of_series(api, 'PENDING'), of_series(api, 'PENDING')
    with pytest.raises(exceptions.CommandError) as refused:
        run(series.ShowSeries, 'course')
    assert one in str(refused.value)
    assert two in str(refused.value)


def test_projects_of_the_next_lease_are_listed(run, api, identity):
    of_series(api, 'TERMINATED', 'PENDING', 'PENDING')
    api.accesses = [{'reservation_id': 'h', 'project_id': PHYSICS}]
    assert run(series.ListProject, 'course') == [
        {'Project': 'physics', 'Reservation': 'h'}
    ]
    assert api.asked[-1] == [*api.leases][1]


def test_a_series_is_shared_in_the_same_command(run, api, identity):
    made(
        run,
        *('--repeat=weekly', '--count=2', '--share-with=physics,chemistry'),
    )
    [action] = api.actions
    assert action['addProjectAccess']['projects'] == [
        *identity.projects_by_name.values()
    ]


def test_a_series_that_could_not_be_shared_says_how_to_share_it(
    run, api, identity
):
    api.unshared = 'too many'
    with pytest.raises(exceptions.CommandError) as refused:
        made(run, '--repeat=weekly', '--count=2', '--share-with=physics')
    assert 'made, but not shared: too many' in str(refused.value)
    [one, _] = api.leases.values()
    again = f'openstack lease series add project {one["series_id"]} physics'
    assert again in str(refused.value)
