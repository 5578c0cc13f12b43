# SPDX-License-Identifier: Apache-2.0
"""The calendar is drawn: people see their own leases, operators all."""

from sandbox import person
from sandbox import story
from sandbox.stories import commands
from sandbox.stories import planned

_MINE, _THEIRS = 'workshop', 'secret-plans'


class Drawing(planned.Planned):
    """A chapter about a day to come."""

    def __init__(self, auth_url: str, timeline: story.Timeline) -> None:
        super().__init__(auth_url, timeline)
        self.auth_url = auth_url
        self.page = timeline.directory / 'calendar.html'

    def draw(self) -> None:
        with self.step('demo and alt lease hosts for some hours'):
            self.lease(self.demo, 1, 9, 1, name=_MINE)
            theirs = self.lease(self.alt, 4, 16, 2, name=_THEIRS)
        with self.step('demo draws the calendar of hosts') as seen:
            drawn = self._calendar('demo')
            _check(drawn, (f'[{_MINE}', '[taken'), (_THEIRS, *self.hosts))
            seen(_row(drawn, _MINE))
        with self.step('its page has no more of others') as seen:
            self._calendar('demo', f'--html={self.page}')
            _check(
                self.page.read_text(),
                (f'>{_MINE}', '>taken: '),
                (_THEIRS, theirs, *self.hosts),
            )
            seen(str(self.page))
        with self.step('the operator draws it with all names') as seen:
            drawn = self._calendar('admin')
            _check(drawn, (f'[{_THEIRS}', *self.hosts), ())
            seen(_row(drawn, _THEIRS))

    def _calendar(self, name: str, *words: str) -> str:
        """Return the calendar of the day, as a person sees it.

        :raises Unexpected: if it fails.
        """
        done = commands.openstack(
            self.auth_url,
            name,
            *('lease', 'calendar', '--hosts', *words),
            *(f'--start={self.at(0).isoformat()}', '--end'),
            self.at(24).isoformat(),
        )
        if done.returncode:
            raise person.Unexpected('a calendar', done.stderr)
        return done.stdout


def _check(
    drawn: str, there: tuple[str, ...], absent: tuple[str, ...]
) -> None:
    """Check which texts are there, and which are not.

    :raises Unexpected:
    """
    for text in there:
        if text not in drawn:
            raise person.Unexpected(f'{text} in the calendar', drawn)
    for text in absent:
        if text in drawn:
            raise person.Unexpected(f'a calendar without {text}', drawn)


def _row(drawn: str, name: str) -> str:
    return next(line for line in drawn.splitlines() if name in line)
