# SPDX-License-Identifier: Apache-2.0
"""A teacher's project shares hosts and slots with that of the students."""

from typing import Any

from sandbox import person
from sandbox import story
from sandbox.person import body
from sandbox.polls import until
from sandbox.stories import cast
from sandbox.stories import commands
from sandbox.stories import planned
from sandbox.story import expect

SEEN = {'id', 'name', 'start_date', 'end_date', 'status', 'reservations'}
"""The fields of a lease that students see."""


class Sharing(planned.Planned):
    """The chapters, in the order in which they are told: demo is the teacher,
    alt the project of the students."""

    def __init__(self, auth_url: str, timeline: story.Timeline) -> None:
        super().__init__(auth_url, timeline)
        self.auth_url = auth_url
        #: The flavor that everybody has, before there are others.
        self.plain = self.operator.ingredients['flavorRef']
        self.students = str(self.alt.reservation.get_project_id())
        #: Leases of the teacher, by their names.
        self.room: Any = None
        self.seats: Any = None

    def tell(self) -> None:
        self.lease_both()
        self.keep_closed()
        self.open()
        self.show()
        on_host, in_slot = self.let_in()
        self.draw_nobody_in()
        self.refuse_strangers()
        self.close(on_host, in_slot)
        self.end(on_host, in_slot)
        self.count()
        self.clean_up()

    def lease_both(self) -> None:
        with self.step('a teacher leases a host and two open slots') as seen:
            self.room = self._begun(
                'room',
                {
                    'resource_type': 'physical:host',
                    'min': 1,
                    'max': 1,
                    'end_action': 'shelve',
                },
            )
            self.seats = self._begun(
                'seats',
                {
                    'resource_type': 'flavor:instance',
                    'flavor_id': self.plain,
                    'amount': 2,
                    'affinity': None,
                    'consume': 'open',
                },
            )
            for lease in (self.room, self.seats):
                seen(f'{lease["name"]} on {self._where(lease)}')

    def keep_closed(self) -> None:
        with self.step('the students have nothing of it') as seen:
            expect('shared leases', [], _shared_with(self.alt))
            seen(self._refused_host(self.alt))
            expect('flavor', 404, self._flavor_of(self.alt))

    def open(self) -> None:
        with self.step('the teacher opens the host to them by the API'):
            access = {
                'reservation_id': _key(self.room),
                'project_id': self.students,
            }
            expect(
                'access',
                [access],
                self._change(self.room, 'addProjectAccess'),
            )
        with self.step('and the slots by openstack lease add project'):
            self._command('add', 'project', 'seats', self.students)
            access = {
                'Reservation': _key(self.seats),
                'Project': self.students,
            }
            expect(
                'access',
                [access],
                self._command('project', 'list', 'seats', shows=True),
            )

    def show(self) -> None:
        with self.step('the students see the leases, and little of them'):
            expect('own leases', [], _leases(self.alt))
            shown = _shared_with(self.alt)
            expect(
                'shared leases',
                {lease['id']: {_key(lease)} for lease in self._both},
                {
                    lease['id']: {each['id'] for each in lease['reservations']}
                    for lease in shown
                },
            )
            for lease in [*shown, self.alt.lease(self.room['id'])]:
                expect('what is shown', SEEN, set(lease))
                expect('of each', [{'id'}], [*map(set, lease['reservations'])])
        with self.step('also by openstack lease list --shared') as seen:
            words = ('lease', 'list', '--shared')
            lines = commands.shown_by(self.auth_url, 'alt', *words)
            listed = {line['Name']: line['Reservation IDs'] for line in lines}
            expect(
                'reservations',
                {lease['name']: [_key(lease)] for lease in self._both},
                listed,
            )
            seen(', '.join(listed))

    def let_in(self) -> tuple[str, str]:
        """Return the servers of the students on the host and in a slot."""
        with self.step('a server of theirs lands on the host by the hint'):
            answer = self.alt.boot('pupil', _key(self.room))
            on_host = cast.accepted(answer)
            self.expect_on(on_host, self.hosts_of(self.room['id']))
        with self.step('and one in a slot, by its flavor') as seen:
            until(
                'their flavor',
                lambda: self._flavor_of(self.alt),
                lambda status: status == 200,
            )
            answer = self.alt.boot('pupil', flavorRef=_key(self.seats))
            in_slot = cast.accepted(answer)
            self.expect_on(in_slot, self.hosts_of(self.seats['id']))
            (shown,) = self.demo.lease(self.seats['id'])['reservations']
            expect('used', (1, []), (shown['used'], shown['servers']))
            seen('the teacher sees that it is used, and not by what')
        return on_host, in_slot

    def draw_nobody_in(self) -> None:
        with self.step('an ordinary server of theirs is not drawn in') as seen:
            answer = self.alt.boot('plain', flavorRef=self.plain)
            seen(self.expect_no_host(answer))
        with self.step('one of the teacher is, into the last slot') as seen:
            answer = self.demo.boot('plain', flavorRef=self.plain)
            server = cast.accepted(answer)
            hosts = self.hosts_of(self.seats['id'])
            seen(self.expect_on(server, hosts))

    def refuse_strangers(self) -> None:
        stranger = self._newcomer('stranger')
        with self.step('a stranger is refused, and sees nothing') as seen:
            expect('shared leases', [], _shared_with(stranger))
            expect('lease', None, stranger.lease(self.room['id']))
            seen(self._refused_host(stranger))
            expect('flavor', 404, self._flavor_of(stranger))

    def close(self, on_host: str, in_slot: str) -> None:
        with self.step('the teacher takes access back by the API') as seen:
            left = self._change(self.room, 'removeProjectAccess')
            expect('access', [], left)
            seen(self._refused_host(self.alt))
        with self.step('and by openstack lease remove project') as seen:
            self._command('remove', 'project', 'seats', self.students)
            until(
                'no flavor',
                lambda: self._flavor_of(self.alt),
                lambda status: status == 404,
            )
            answer = self.alt.boot('late', flavorRef=_key(self.seats))
            seen(cast.refusal(answer, 400))
            expect('shared leases', [], _shared_with(self.alt))
        with self.step('what the students have there stays'):
            for server in (on_host, in_slot):
                shown = self.alt.server(server)
                expect('status', 'ACTIVE', shown['status'])

    def end(self, on_host: str, in_slot: str) -> None:
        with self.step('the leases end') as seen:
            for lease in self._both:
                path = f'/leases/{lease["id"]}'
                change = {'end_date': 'now'}
                body(self.demo.reservation.put(path, json=change))
            for lease in self._both:
                seen(self.wait_for(lease['id'], 'TERMINATED', 90))
        with self.step("the students' server on the host is shelved") as seen:
            status = self.alt.server(on_host)['status']
            expect('status', 'SHELVED_OFFLOADED', status)
            seen(status)
            body(self.alt.compute.delete(f'/servers/{on_host}'), 204)
        with self.step('and the one in the slot is deleted'):
            expect('server', None, self.alt.server(in_slot))

    def count(self) -> None:
        with self.step('what they used is in the usage of the teacher'):
            usages = {
                lease['lease_id']: lease['used'].get('servers', 0)
                for lease in self.demo.usages()
            }
            for lease in self._both:
                used = usages[lease['id']]
                if not used > 0:
                    raise person.Unexpected('servers', used)
            theirs = {lease['lease_id'] for lease in self.alt.usages()}
            expect('theirs', set(), theirs & {it['id'] for it in self._both})

    # What the chapters are made of.

    @property
    def _both(self) -> tuple[Any, Any]:
        return self.room, self.seats

    def _begun(self, name: str, reservation: dict[str, Any]) -> Any:
        """Return a lease of the teacher that has begun."""
        end = cast.now() + cast.hours(1)
        answer = self.demo.ask_lease_of(name, None, end, reservation)
        lease = body(answer, 201)['lease']
        self.leases.append(lease['id'])
        self.wait_for(lease['id'], 'ACTIVE')
        return lease

    def _where(self, lease: Any) -> str:
        return ', '.join(sorted(self.hosts_of(lease['id'])))

    def _change(self, lease: Any, action: str) -> Any:
        """Change the access of the students; return who has access then."""
        asked = {'reservation_id': _key(lease), 'project': self.students}
        answer = self.demo.reservation.post(
            f'/leases/{lease["id"]}/action', json={action: asked}
        )
        return body(answer)['project_access']

    def _command(self, *words: str, shows: bool = False) -> Any:
        """Run openstack lease as the teacher; return what it shows."""
        return commands.shown_by(
            self.auth_url, 'demo', 'lease', *words, shows=shows
        )

    def _refused_host(self, who: person.Person) -> str:
        return cast.refusal(who.boot('refused', _key(self.room)), 404)

    def _flavor_of(self, who: person.Person) -> int:
        """Return the status of the request for the flavor of the slots."""
        answer = who.compute.get(f'/flavors/{_key(self.seats)}')
        return int(answer.status_code)

    def _newcomer(self, name: str) -> person.Person:
        """Return a member of a new project."""
        identity = self.operator.identity
        asked = {'project': {'name': name}}
        project = body(identity.post('/projects', json=asked), 201)['project']
        user = body(
            identity.post(
                '/users', json={'user': {'name': name, 'password': name}}
            ),
            201,
        )['user']
        (role,) = body(identity.get('/roles?name=member'))['roles']
        grant = f'/projects/{project["id"]}/users/{user["id"]}/roles/'
        body(identity.put(grant + role['id']), 204)
        return person.Person(self.auth_url, name)


def _key(lease: Any) -> str:
    """Return the id of the lease's only reservation."""
    (reservation,) = lease['reservations']
    return str(reservation['id'])


def _leases(who: person.Person, query: str = '') -> Any:
    return body(who.reservation.get(f'/leases{query}'))['leases']


def _shared_with(who: person.Person) -> Any:
    return _leases(who, '?shared=true')
