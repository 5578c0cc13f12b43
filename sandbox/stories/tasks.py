# SPDX-License-Identifier: Apache-2.0
"""Ten tasks of people, in the commands that they would type.

A command is typed at a terminal of 80 columns, on a machine in a zone that
changes its clock. It has no JSON and no ID.
"""

import datetime
import re
import time
from typing import Any
import zoneinfo

from sandbox import person
from sandbox import story
from sandbox.person import body
from sandbox.polls import until
from sandbox.stories import cast
from sandbox.stories import commands
from sandbox.story import expect

ZONE = zoneinfo.ZoneInfo('Europe/Rome')
COLUMNS = 80
GROUPS = tuple(f'group-{number}' for number in range(1, 31))
_ID = re.compile(r'[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}|[{}]')
_HOURS = datetime.timedelta(hours=2)
_WEEK = datetime.timedelta(days=7)


def tell(auth_url: str, timeline: story.Timeline) -> None:
    """Do ten things, each by a few commands in words."""
    told = _Tasks(auth_url, timeline)
    told.prepare()
    for title, most, task in (
        ('a host now', 1, told.have_a_host),
        ('GPU hosts next week', 2, told.have_gpus),
        ('fewer of them', 1, told.shrink),
        ('at another hour', 1, told.move),
        ('for 30 other projects, too', 2, told.share),
        ('a class for 15 weeks', 4, told.teach),
        ('longer', 1, told.prolong),
        ('when is it free?', 2, told.look_for_room),
        ('a reboot of a host', 2, told.reboot),
        ('a bill', 2, told.bill),
    ):
        told.do(title, most, task)
    told.clean_up()


class _Tasks(cast.Cast):
    """The chapters, in the order in which they are told.

    :ivar typed: how many commands the present task took.
    """

    def __init__(self, auth_url: str, timeline: story.Timeline) -> None:
        super().__init__(auth_url, timeline)
        self.auth_url = auth_url
        self.typed = 0

    def prepare(self) -> None:
        with self.step('there are hosts, and groups that demo teaches'):
            self.enrol_all_of(self.operator.hosts()[:3])
            for key in self.operator.enrolled():
                answer = self.operator.reservation.put(
                    f'/os-hosts/{key}', json={'gpu': 'a100'}
                )
                body(answer)
            for name in GROUPS:
                self._add_group(name)

    def _add_group(self, name: str) -> None:
        """Make a project of which demo is a member."""
        identity = self.operator.identity
        asked = {'project': {'name': name}}
        project = body(identity.post('/projects', json=asked), 201)['project']
        (role,) = body(identity.get('/roles?name=member'))['roles']
        teacher = self.demo.identity.get_user_id()
        path = f'/projects/{project["id"]}/users/{teacher}/roles/{role["id"]}'
        body(identity.put(path), 204)

    def do(self, title: str, most: int, task: Any) -> None:
        """Do a task, and check that it took no more commands."""
        self.typed, began = 0, time.monotonic()
        with self.step(title) as seen:
            task()
            if self.typed > most:
                raise person.Unexpected(f'{most} commands', self.typed)
            seconds = time.monotonic() - began
            seen(f'{self.typed} commands in {seconds:.1f} s')

    def have_a_host(self) -> None:
        said = self.type('lease create mine --hosts 1 --duration 2h --wait')
        expect('status', 'ACTIVE', self.lease('mine')['status'])
        _has(said, 'ACTIVE', 'Europe/Rome')

    def have_gpus(self) -> None:
        _has(self.type('lease property list'), 'gpu', 'a100')
        self.type(
            'lease create training --hosts 2 --property gpu=a100',
            *('--start', 'monday 9:00', '--duration', '5d'),
        )
        start = _local(self.lease('training')['start_date'])
        expect('start', (0, 9, 0), (start.weekday(), start.hour, start.minute))

    def shrink(self) -> None:
        self.type('lease set training --hosts 1')
        (reservation,) = self.lease('training')['reservations']
        expect('hosts', (1, 1), (reservation['min'], reservation['max']))

    def move(self) -> None:
        before = self.lease('training')
        self.type('lease set training --move-to', 'tuesday 14:00')
        after = self.lease('training')
        expect('length', _length(before), _length(after))
        start = _local(after['start_date'])
        expect('start', (1, 14), (start.weekday(), start.hour))

    def share(self) -> None:
        self.type(f'lease add project training {" ".join(GROUPS)}')
        _has(self.type('lease project list training'), *GROUPS)

    def teach(self) -> None:
        first = _before_a_change()
        self.type(
            'lease create course --hosts 1 --duration 3h --repeat mon,wed',
            *('--count', '30', '--start', f'{first:%Y-%m-%d} 9:00'),
            *('--except', f'{first + _WEEK:%Y-%m-%d}'),
            *('--share-with', ','.join(GROUPS)),
        )
        _has(self.type('lease series show course'), f'{first:%Y-%m-%d} 09:00')
        leases = self.leases('course')
        expect('leases', 29, len(leases))
        starts = [_local(each['start_date']) for each in leases]
        expect('hours', {9}, {each.hour for each in starts})
        expect('offsets', 2, len({each.utcoffset() for each in starts}))
        self.type(
            'lease series set course --later 1h --from',
            f'{first + 2 * _WEEK:%Y-%m-%d}',
        )
        starts = [_local(each['start_date']) for each in self.leases('course')]
        expect('hours', {9, 10}, {each.hour for each in starts})
        self.type('lease series list')

    def prolong(self) -> None:
        before = cast.end_of(self.lease('mine'))
        self.type('lease set mine --extend 2h')
        expect('end', before + _HOURS, cast.end_of(self.lease('mine')))

    def look_for_room(self) -> None:
        _has(self.type('lease offer list --hosts 3 --duration 4h'), 'Start')
        _has(self.type('lease capacity'), 'Free')

    def reboot(self) -> None:
        window = ('--start', 'tomorrow 22:00', '--duration', '90m')
        host = self.operator.hosts()[0]
        self.type(f'lease host maintain {host}', *window, who='admin')
        said = self.type('lease host list', who='admin')
        _has(said, host)

    def bill(self) -> None:
        _has(self.type('lease usage --detailed'), 'mine')
        self.type('lease usage --all-projects', who='admin')

    def clean_up(self) -> None:
        with self.step('all of it is deleted by its name'):
            self.type('lease series delete course')
            self.type('lease delete mine training')
            until('gone', self.leases, lambda left: not left, 60)
            maintenance = body(self.operator.reservation.get('/leases'))
            for lease in maintenance['leases']:
                self.delete_lease(lease['id'], 60)

    def type(self, line: str, *words: str, who: str = 'demo') -> str:
        """Type a command; return what the terminal shows.

        :raises Unexpected: if it fails, is wider than the terminal, or needs
            what nobody can remember.
        """
        typed = [*line.split(), *words]
        self.typed += 1
        if any(map(_ID.search, typed)):
            raise person.Unexpected('words', typed)
        code, printed, said = commands.at_terminal(
            self.auth_url, who, typed, str(ZONE), COLUMNS
        )
        if code:
            raise person.Unexpected(f'openstack {" ".join(typed)}', said)
        for printed_line in printed.splitlines():
            if len(printed_line) > COLUMNS:
                raise person.Unexpected(f'{COLUMNS} columns', printed)
        return printed

    def lease(self, name: str) -> Any:
        (found,) = self.leases(name)
        return found

    def leases(self, name: str | None = None) -> list[Any]:
        """Return demo's leases, of one name or all, by their starts."""
        query = f'&name={name}' if name else ''
        answer = self.demo.reservation.get(
            f'/leases?sort_key=start_date{query}'
        )
        return [
            each
            for each in body(answer)['leases']
            if each['status'] != 'TERMINATED'
        ]


def _has(text: str, *parts: str) -> None:
    for part in parts:
        if part not in text:
            raise person.Unexpected(part, text)


def _local(date: str) -> datetime.datetime:
    found = datetime.datetime.fromisoformat(date)
    return found.replace(tzinfo=datetime.UTC).astimezone(ZONE)


def _length(lease: Any) -> datetime.timedelta:
    return _local(lease['end_date']) - _local(lease['start_date'])


def _before_a_change() -> datetime.date:
    """Return a Monday, some weeks before the clocks of the zone are changed,
    and next week at the earliest."""
    day = datetime.datetime.now(ZONE).replace(hour=12) + 6 * _WEEK
    while day.utcoffset() == (day + _WEEK).utcoffset():
        day += _WEEK
    first = day - 4 * _WEEK
    return (first - datetime.timedelta(days=first.weekday())).date()
