# SPDX-License-Identifier: Apache-2.0
"""A resource type from the documentation is installed, and its resources are
leased like hosts, alone and together with hosts."""

from collections import Counter
from collections.abc import Iterator
from concurrent import futures
import json
import pathlib
import re
import subprocess
import sys
from typing import Any

import requests

from sandbox import ini
from sandbox import layout as lo
from sandbox import person
from sandbox import polls
from sandbox import story
from sandbox.person import body
from sandbox.stories import cast
from sandbox.stories import commands
from sandbox.stories import planned
from sandbox.story import expect

TYPE = 'example:licence'

#: Options in nova.conf. The type is there from the start, because a Nova that
#: is a single process can't be restarted.
CONF: ini.Sections = {
    'reservations': {
        'resource_types': f'physical:host,virtual:instance,{TYPE}'
    },
    'licences': {'folder': '$state_path/licences'},
}

_PAGE = (
    pathlib.Path(__file__).parents[2]
    / 'doc/source/contributor/resource-types.rst'
)


def tell(auth_url: str, timeline: story.Timeline) -> None:
    """Install, add, lease, plan, cordon and remove licences of a guide."""
    told = _Licences(auth_url, timeline)
    told.add()
    told.mistake()
    told.lease_some()
    told.look()
    told.crowd()
    told.take_away()
    told.lease_both()


class _Licences(planned.Planned):
    """The chapters, in the order in which they are told.

    :ivar folder: the "cloud" of licences, with files that say who may use
        which licence.
    """

    def __init__(self, auth_url: str, timeline: story.Timeline) -> None:
        super().__init__(auth_url, timeline)
        self.auth_url = auth_url
        self.layout = timeline.services.layout
        self.folder = timeline.directory / 'licences'
        self.folder.mkdir()

    def add(self) -> None:
        with self.step('openstack lease resource create') as seen:
            made = self._admin(
                *('create', TYPE, 'cad', '--inventory', 'SEATS=4'),
                *('--property', 'vendor=acme'),
            )
            seen(json.dumps(made['Inventories']))
        with self.step('nova-reservations-manage resource add') as seen:
            done = commands.manage(
                self.layout,
                *('resource', 'add', TYPE, 'fem'),
                *('--inventory', 'SEATS=4', '--property', 'vendor=best'),
            )
            expect('exit code', 0, done.returncode)
            seen(done.stdout.strip())
        with self.step('both are listed'):
            listed = commands.shown_by(
                *(self.auth_url, 'admin', 'lease', 'resource', 'list', TYPE)
            )
            names = [each['Name'] for each in listed]
            expect('names', ['cad', 'fem'], names)
        self.enrol()

    def mistake(self) -> None:
        for words, reason in (
            (('create', 'example:moon', 'a'), f'there are: {TYPE}'),
            (('create', TYPE, 'cad'), 'There is a resource cad'),
            (('create', TYPE, 'a', '--inventory=seats=1'), 'A-Z, 0-9 and _'),
            (('create', TYPE, 'a', '--inventory=SEATS=-1'), 'such as SEATS'),
            (('set', TYPE, 'moon', '--cordon'), 'has the name moon'),
            (('set', TYPE, 'cad', '--property=name=b'), 'name of a property'),
        ):
            with self.step(f'no: resource {" ".join(words)}') as seen:
                done = commands.openstack(
                    *(self.auth_url, 'admin', 'lease', 'resource', *words)
                )
                said = done.stderr.strip().splitlines()
                if not done.returncode or reason not in done.stderr:
                    raise person.Unexpected(reason, done)
                seen(said[-1])
        with self.step('a member misspells a property') as seen:
            answer = self._ask(self.demo, 1, required=_vendor('acme', 'vndor'))
            seen(cast.refusal(answer, 400))

    def lease_some(self) -> None:
        with self.step('demo leases two seats of acme, from now on') as seen:
            answer = self._ask(self.demo, 2, required=_vendor('acme'))
            self.now = self._made(answer)
            seen(self.wait_for(self.now, 'ACTIVE'))
            expect('used', {'cad': 2}, self._used())
        with self.step('and three of anybody, tomorrow') as seen:
            self.later = self._made(self._ask(self.demo, 3, 1, 2))
            seen(str(self._promised(self.later)))

    def look(self) -> None:
        window = (
            f'--start={self.at(1):%Y-%m-%d %H:%M}',
            f'--end={self.at(2):%Y-%m-%d %H:%M}',
        )
        with self.step('openstack lease capacity') as seen:
            (shown,) = commands.shown_by(
                *(self.auth_url, 'alt', 'lease', 'capacity', *window),
                *(f'--resource-type={TYPE}', '--resource-class=SEATS'),
            )
            found = (shown['Units'], shown['Available'])
            expect('all and available', (8, 5), found)
            seen(f'{found[1]} of {found[0]} seats')
        with self.step('openstack lease calendar') as seen:
            for who, part in (('alt', 'resource 1'), ('admin', 'cad')):
                done = commands.openstack(
                    *(self.auth_url, who, 'lease', 'calendar', *window),
                    f'--resources={TYPE}',
                )
                if done.returncode or part not in done.stdout:
                    raise person.Unexpected(part, done)
                seen(f'{who} sees {part}')
        with self.step('openstack lease usage, and limits show') as seen:
            (line,) = commands.shown_by(
                self.auth_url, 'demo', 'lease', 'usage'
            )
            if 'SEATS: ' not in line['Other hours']:
                raise person.Unexpected('hours of seats', line)
            seen(line['Other hours'])
            limits = body(self.demo.reservation.get('/limits'))['limits']
            expect('leases', 2, limits['absolute']['openLeasesUsed'])
            expect('hosts', 0, limits['absolute']['reservedHostsUsed'])

    def crowd(self) -> None:
        with self.step('nine ask for the last five at once') as seen:
            people = [
                person.Person(self.auth_url, name)
                for name in ('demo', 'alt', 'demo') * 3
            ]
            with futures.ThreadPoolExecutor(len(people)) as pool:
                answers = list(
                    pool.map(lambda who: self._ask(who, 1, 1, 2), people)
                )
            for answer in answers:
                if answer.status_code == 201:
                    self._made(answer)
            counts = Counter(each.status_code for each in answers)
            expect('answers', {201: 5, 400: 4}, dict(counts))
            promised = Counter(self._promised(*self.leases))
            expect('at that hour', 10, promised.total())
            seen('five have them')

    def take_away(self) -> None:
        with self.step('what is leased is not taken away') as seen:
            for words in (
                ('set', TYPE, 'cad', '--inventory=SEATS=1'),
                ('set', TYPE, 'cad', '--no-property=vendor'),
                ('delete', TYPE, 'cad'),
            ):
                done = commands.openstack(
                    *(self.auth_url, 'admin', 'lease', 'resource', *words)
                )
                if self.now not in done.stderr:
                    raise person.Unexpected(self.now, done)
                seen(done.stderr.strip().splitlines()[-1])
        for lease in self.leases[2:]:
            self.delete_lease(lease)
        del self.leases[2:]
        name, *_ = sorted(self._promised(self.later))
        (other,) = {'cad', 'fem'} - {name}
        with self.step(f'{name} is cordoned: the promise moves') as seen:
            self._admin('set', TYPE, name, '--cordon')
            expect('promised', {other: 3}, self._promised(self.later))
            seen(f'to {other}')
        with self.step('nobody gets it') as seen:
            seen(cast.refusal(self._ask(self.alt, 2, 1, 2), 400))
        with self.step('uncordoned, it is there again'):
            self._admin('set', TYPE, name, '--uncordon')
            self._made(self._ask(self.alt, 2, 1, 2))
        self.clean_up()
        expect('used', {}, self._used())
        with self.step('and what no lease has is removed'):
            self._admin('delete', TYPE, 'fem', shows=False)

    def lease_both(self) -> None:
        with self.step('hosts and seats: refused as a whole') as seen:
            hosts = len(self.hosts)
            for answer in (
                self._ask(self.demo, 5, hosts=1),
                self._ask(self.demo, 1, hosts=hosts + 1),
            ):
                seen(cast.refusal(answer, 400))
        barred = self.folder / 'cad.barred'
        with self.step('a start that the plugin refuses is undone') as seen:
            barred.touch()
            lease = self._made(self._ask(self.demo, 4, hosts=hosts))
            self.wait_for(lease, 'ERROR')
            seen(str(self.demo.lease(lease)['status_reason']))
            polls.until(
                'no aggregate',
                lambda: self._aggregates(lease),
                lambda there: not there,
            )
            expect('used', {}, self._used())
            barred.unlink()
            self.clean_up()
        with self.step('the next has both') as seen:
            lease = self._made(self._ask(self.demo, 4, hosts=hosts))
            seen(self.wait_for(lease, 'ACTIVE', 60))
            expect('used', {'cad': 4}, self._used())
            (there,) = self._aggregates(lease)
            expect('hosts', self.hosts, sorted(there))
        with self.step('its end waits for whoever works with it') as seen:
            (file,) = self.folder.glob('cad.*')
            in_use = file.with_suffix('.in-use')
            in_use.touch()
            body(
                self.demo.reservation.put(
                    f'/leases/{lease}', json={'end_date': 'now'}
                )
            )
            reason = polls.until(
                'a reason',
                lambda: self.demo.lease(lease)['status_reason'],
                bool,
            )
            seen(reason)
            in_use.unlink()
        with self.step('then nothing of it is left') as seen:
            seen(self.wait_for(lease, 'TERMINATED', 60))
            expect('used', {}, self._used())
            expect('aggregates', [], self._aggregates(lease))
            self.clean_up()
            self._admin('delete', TYPE, 'cad', shows=False)

    def _admin(self, *words: str, shows: bool = True) -> Any:
        return commands.shown_by(
            *(self.auth_url, 'admin', 'lease', 'resource', *words),
            shows=shows,
        )

    def _ask(
        self,
        who: person.Person,
        seats: int,
        start: float | None = None,
        end: float | None = None,
        required: str = '',
        hosts: int = 0,
    ) -> requests.Response:
        """Ask for seats at hours of the next day, or from now on."""
        asked: list[dict[str, Any]] = [
            {
                'resource_type': TYPE,
                'seats': seats,
                'resource_properties': required,
            }
        ]
        if hosts:
            asked.insert(0, planned.of_hosts(hosts))
        first = 'now' if start is None else self.at(start).isoformat()
        last = cast.now() + cast.hours(1) if end is None else self.at(end)
        return who.reservation.post(
            '/leases',
            json={
                'name': 'seats',
                'start_date': first,
                'end_date': last.isoformat(),
                'reservations': asked,
            },
        )

    def _made(self, answer: requests.Response) -> str:
        lease = str(body(answer, 201)['lease']['id'])
        self.leases.append(lease)
        return lease

    def _promised(self, *leases: str) -> dict[str, int]:
        """Return licence -> the number of its seats that leases have."""
        found = Counter[str]()
        listed = body(
            self.operator.reservation.get(f'/resources?resource_type={TYPE}')
        )
        for each in listed['resources']:
            path = f'/resources/{each["id"]}'
            shown = body(self.operator.reservation.get(path))['resource']
            for one in shown['reservations']:
                if one['lease_id'] in leases:
                    found[each['name']] += one['amounts']['SEATS']
        return dict(found)

    def _used(self) -> dict[str, int]:
        """Return licence -> the number of its seats that somebody may use."""
        return {
            file.stem: int(file.read_text().partition(': ')[2])
            for file in self.folder.iterdir()
            if file.suffix not in ('.in-use', '.barred')
        }

    def _aggregates(self, lease: str) -> list[Any]:
        ids = {each['id'] for each in self.demo.lease(lease)['reservations']}
        return [
            aggregate['hosts']
            for name, aggregate in self.operator.aggregates().items()
            if name in ids
        ]


def _vendor(name: str, key: str = 'vendor') -> str:
    return f'["==", "${key}", "{name}"]'


def install(layout: lo.Layout) -> None:
    """Install the package of the guide in this sandbox only."""
    project = layout.directory / 'licences-printed'
    project.mkdir()
    for name, text in _printed():
        (project / name).write_text(text)
    subprocess.run(
        [
            *(sys.executable, '-m', 'pip', 'install', '--quiet'),
            *('--no-deps', '--disable-pip-version-check'),
            *('--target', str(layout.site), str(project)),
        ],
        check=True,
    )


def _printed() -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each file of this type in the guide,
    which has other files, too."""
    for name in re.findall(
        r'literalinclude:: (\S+/licences/\S+)', _PAGE.read_text()
    ):
        file = _PAGE.parent / name
        yield file.name, file.read_text()
