# SPDX-License-Identifier: Apache-2.0
"""``openstack lease export``, read back as calendar programs do."""

import datetime
import io
import types

import icalendar
from osc_lib import exceptions
import pytest

from osc_nova_reservations.calendar import export
from osc_nova_reservations.calendar import ics
from osc_nova_reservations.tests import fake_api

ODD = 'Workshop; part 2, "\U0001f469\u200d\U0001f52c" \\n at\n9:00 \u4e2d' * 4


def stamp(text: str) -> str:
    return f'2027-03-{text}:00.000000'


@pytest.fixture
def add(api):
    """Create a lease; return it as the API shows it."""

    def add(**values):
        known = {
            'name': 'workshop',
            'project_id': 'p',
            'start_date': stamp('01T09:00'),
            'end_date': stamp('03T18:00'),
            'created_at': stamp('01T08:00'),
            'updated_at': None,
        }
        status = values.pop('status', 'PENDING')
        hosts = {'id': 'r', 'resource_type': 'physical:host'}
        lease = api.add([hosts | {'min': 2, 'max': 2}], **known | values)
        lease['status'] = status
        return lease

    return add


@pytest.fixture
def exported(run, tmp_path):
    """Export leases; return the events of the file."""

    def exported(*words):
        file = tmp_path / 'leases.ics'
        assert run(export.ExportLease, f'--ics={file}', *words) is None
        return icalendar.Calendar.from_ical(file.read_bytes()).events

    return exported


def test_a_lease_is_an_event(exported, add):
    lease = add()
    [event] = exported()
    assert event['uid'] == f'{lease["id"]}@nova-reservations'
    assert event['summary'] == 'workshop'
    utc = datetime.UTC
    assert event.start == datetime.datetime(2027, 3, 1, 9, tzinfo=utc)
    assert event.end == datetime.datetime(2027, 3, 3, 18, tzinfo=utc)
    assert event['description'] == (
        'Reserved: 2 hosts\nStatus: PENDING\nProject: p'
    )
    assert event.categories == ['physical:host']
    # Whoever has a lease is not busy all the time.
    assert event['transp'] == 'TRANSPARENT'


def test_a_file_has_all_that_it_must_have(exported, add, tmp_path):
    add()
    [event] = exported()
    for required in 'UID', 'DTSTAMP':
        assert required in event
    content = (tmp_path / 'leases.ics').read_bytes()
    lines = content.split(b'\r\n')
    assert lines[0] == b'BEGIN:VCALENDAR'
    assert lines[-2:] == [b'END:VCALENDAR', b'']
    assert b'VERSION:2.0' in lines
    assert b'DTSTART:20270301T090000Z' in lines
    assert b'REFRESH-INTERVAL;VALUE=DURATION:PT1H' in lines


def test_odd_names_are_read_back_as_they_were(exported, add, tmp_path):
    add(name=ODD)
    [event] = exported()
    assert event['summary'] == ODD
    for line in (tmp_path / 'leases.ics').read_bytes().split(b'\r\n'):
        assert len(line) <= 75
        line.decode()


def test_characters_that_the_format_does_not_know_are_replaced(exported, add):
    add(name='a\x00b\x1bc\ud800')
    [event] = exported()
    assert event['summary'] == 'a\ufffdb\ufffdc\ufffd'


@pytest.mark.parametrize(
    ('status', 'shown'),
    [
        ('PENDING', 'CONFIRMED'),
        ('ACTIVE', 'CONFIRMED'),
        ('TERMINATED', 'CONFIRMED'),
        ('CREATING', 'TENTATIVE'),
        ('IN_PROGRESS', 'TENTATIVE'),
        ('ERROR', 'CANCELLED'),
        ('TIMEDOUT', 'CANCELLED'),
    ],
)
def test_a_lease_that_waits_is_tentative_and_one_that_failed_is_cancelled(
    exported, add, status, shown
):
    add(status=status)
    [event] = exported()
    assert event['status'] == shown


def test_a_change_has_a_higher_number(exported, add):
    lease = add()
    [before] = exported()
    assert before['sequence'] == 0
    assert before['dtstamp'].dt == before['created'].dt
    lease['updated_at'] = stamp('02T08:00')
    [after] = exported()
    assert after['sequence'] == 24 * 60 * 60
    assert f'{after["last-modified"].dt:%d %H:%M}' == '02 08:00'
    assert after['uid'] == before['uid']


def test_a_file_changes_only_if_a_lease_does(add):
    lease = add()
    assert ics.of([lease]) == ics.of([lease])
    assert ics.of([lease]) != ics.of([lease | {'name': 'other'}])


def test_parts_are_no_categories(add):
    part = {
        **{'id': 's', 'resource_type': 'virtual:network', 'part_of': 'r'},
        'part_name': 'net',
    }
    lease = add()
    [event] = icalendar.Calendar.from_ical(
        ics.of([lease | {'reservations': [*lease['reservations'], part]}])
    ).events
    assert event.categories == ['physical:host']


def test_the_window_is_from_a_month_ago_to_a_year_from_now(exported, api):
    assert exported() == []
    [query] = api.queries
    assert query['sort_key'] == ['start_date']
    start, end = (
        datetime.datetime.fromisoformat(query[key][0])
        for key in ('end_after', 'start_before')
    )
    ago = fake_api.NOW - start
    assert abs(ago - datetime.timedelta(days=30)) < datetime.timedelta(hours=1)
    days = datetime.timedelta(days=395)
    # The clocks of the machine may have been changed meanwhile.
    assert abs(end - start - days) <= datetime.timedelta(hours=1)


def test_the_window_is_in_the_zone_that_is_told(exported, api):
    exported(
        *('--start=2027-03-01', '--end=2027-04-01'), '--timezone=Europe/Rome'
    )
    [query] = api.queries
    assert query['end_after'] == ['2027-02-28T23:00:00+00:00']
    assert query['start_before'] == ['2027-03-31T22:00:00+00:00']


def test_the_standard_output_gets_the_same_bytes_in_any_encoding(
    manager, add, exported, tmp_path
):
    add(name=ODD)
    exported()
    raw = io.BytesIO()
    app = types.SimpleNamespace(
        client_manager=manager,
        options=None,
        stdout=io.TextIOWrapper(raw, encoding='ascii', newline='\r'),
    )
    called = export.ExportLease(app, None)
    parser = called.get_parser('openstack lease export')
    called.take_action(parser.parse_args(['--ics', '-']))
    assert raw.getvalue() == (tmp_path / 'leases.ics').read_bytes()


def test_without_a_format_it_is_told_what_to_give(run, api):
    with pytest.raises(exceptions.CommandError, match=r'--ics leases\.ics'):
        run(export.ExportLease)
    assert api.queries == []
