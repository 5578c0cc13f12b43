# SPDX-License-Identifier: Apache-2.0
"""A series keeps its local time where the clocks change."""

import datetime
import zoneinfo

from sandbox import person
from sandbox.person import body
from sandbox.stories import cast
from sandbox.stories import planned
from sandbox.story import expect

_ROME = zoneinfo.ZoneInfo('Europe/Rome')
_NINE = datetime.time(9)


class Repeating(planned.Planned):
    """A chapter about the days around the next change in Rome."""

    def repeat(self) -> None:
        day = _change() - datetime.timedelta(days=1)
        with self.step('demo leases a host at 9 in Rome, on two days') as seen:
            answer = self.demo.reservation.post(
                '/leases',
                json={
                    'name': 'daily',
                    'start_date': _nine(day).isoformat(),
                    'duration': '1h',
                    'reservations': [planned.of_hosts(1)],
                    'repeat': {
                        'every': 'P1D',
                        'count': 2,
                        'timezone': _ROME.key,
                    },
                },
            )
            made = body(answer, 201)['leases']
            starts = [planned.date(lease['start_date']) for lease in made]
            local = {start.astimezone(_ROME).time() for start in starts}
            expect('local times', {_NINE}, local)
            first, second = starts
            if second - first == datetime.timedelta(days=1):
                raise person.Unexpected('another hour in UTC', starts)
            seen(' and '.join(f'{start:%Y-%m-%d %H:%M}' for start in starts))
        with self.step('the series is shown, and deleted as one'):
            path = f'/lease-series/{made[0]["series_id"]}'
            shown = body(self.demo.reservation.get(path))['series']
            expect('leases', made, shown['leases'])
            left = body(self.demo.reservation.delete(path))
            expect('what remains', [], left['remaining'])
            body(self.demo.reservation.get(path), 404)


def _change() -> datetime.date:
    """Return the next day, after tomorrow, on which the clocks change."""
    day = cast.now().date() + datetime.timedelta(days=3)
    while _nine(day) - _nine(day - datetime.timedelta(days=1)) == (
        datetime.timedelta(days=1)
    ):
        day += datetime.timedelta(days=1)
    return day


def _nine(day: datetime.date) -> datetime.datetime:
    return datetime.datetime.combine(day, _NINE, _ROME).astimezone(
        datetime.UTC
    )
