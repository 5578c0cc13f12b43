# SPDX-License-Identifier: Apache-2.0
"""A full cloud: refusals that tell when, offers, promises that move, and an
active lease that shrinks."""

import datetime
from typing import Any

import requests

from sandbox import person
from sandbox import story
from sandbox.person import body
from sandbox.stories import cast
from sandbox.story import expect
from sandbox.story import until


def tell(auth_url: str, timeline: story.Timeline) -> None:
    """Ask a full cloud for hosts."""
    told = _Planning(auth_url, timeline)
    told.enrol()
    told.refuse_with_a_time()
    told.take_an_offer()
    told.clean_up()
    told.move_a_promise()
    told.clean_up()
    told.shrink()
    told.clean_up()


class _Planning(cast.Cast):
    """The chapters, in the order in which they are told.

    All but the last are about a day to come.
    """

    def __init__(self, auth_url: str, timeline: story.Timeline) -> None:
        super().__init__(auth_url, timeline)
        self.hosts = sorted(self.operator.hosts())
        self.day = cast.now().replace(minute=0, second=0) + cast.hours(24)
        #: Ids of the leases that there are.
        self.leases: list[str] = []

    def enrol(self) -> None:
        with self.step('the operator enrolls all hosts') as seen:
            self.enrol_all_of(self.hosts)
            until(
                'all reservable',
                lambda: body(self.operator.reservation.get('/os-hosts')),
                lambda shown: all(
                    host['reservable'] for host in shown['hosts']
                ),
            )
            seen(', '.join(self.hosts))

    def refuse_with_a_time(self) -> None:
        with self.step('demo leases all hosts for two hours'):
            self._lease(self.demo, 1, 3, len(self.hosts))
        with self.step('alt is told when there is room') as seen:
            answer = self._ask(self.alt, 2, 4, 1)
            refusal = body(answer, 409)
            expect('start', self._at(3), _date(refusal['earliest_start']))
            if 'free for as long from' not in refusal['error_message']:
                raise person.Unexpected('a time', refusal['error_message'])
            seen(refusal['error_message'])
        with self.step('demo is told for how long it can stay'):
            lease = self._lease(self.alt, 4, 5, len(self.hosts))
            late = {'end_date': self._at(6).isoformat()}
            answer = self.demo.reservation.put(
                f'/leases/{self.leases[0]}', json=late
            )
            refusal = body(answer, 409)
            expect('end', self._at(4), _date(refusal['latest_end']))
            self.delete_lease(lease)
            self.leases.remove(lease)

    def take_an_offer(self) -> None:
        with self.step('alt asks for offers') as seen:
            answer = self.alt.reservation.post(
                '/leases/offers',
                json={
                    'duration': '2h',
                    'start_after': self._at(2).isoformat(),
                    'limit': 1,
                    'reservations': [_hosts(1)],
                },
            )
            (offer,) = body(answer)['offers']
            expect('start', self._at(3), _date(offer['start_date']))
            seen(f'{offer["start_date"]} to {offer["end_date"]}')
        with self.step('it tries, which changes nothing, and takes it'):
            before = self._leases_of(self.alt)
            tried = self._ask(self.alt, 3, 5, 1, '?dry_run=true')
            body(tried, 201)
            expect('leases', before, self._leases_of(self.alt))
            self._lease(self.alt, 3, 5, 1)

    def move_a_promise(self) -> None:
        """Both of the hosts that others leave are taken for an hour."""
        first, second, *others = self.hosts
        with self.step('two hosts are promised for an hour each'):
            for host in others:
                self._lease(self.demo, 0, 10, 1, host)
            early = self._lease_beside(second, 2, 3)
            late = self._lease_beside(first, 5, 6)
            expect('hosts', {first}, self._hosts_of(early))
            expect('hosts', {second}, self._hosts_of(late))
            shown = self.demo.lease(early), self.demo.lease(late)
        with self.step('a lease of all these hours fits all the same') as seen:
            whole = self._lease(self.alt, 1, 9, 1)
            expect(
                'hosts',
                {first, second} - self._hosts_of(whole),
                self._hosts_of(early) | self._hosts_of(late),
            )
            seen(f'on {self._hosts_of(whole).pop()}')
        with self.step('only the operator sees what has moved'):
            for old in shown:
                new = self.demo.lease(old['id'])
                expect('lease', _promised(old), _promised(new))
            answer = self.demo.reservation.get('/os-hosts/allocations')
            body(answer, 403)

    def shrink(self) -> None:
        """A lease gives a host back while a server runs on another one."""
        with self.step('demo has all hosts, and a server on one') as seen:
            count = len(self.hosts)
            answer = self.demo.ask_lease(
                'active', None, cast.now() + cast.hours(1), count
            )
            lease = str(body(answer, 201)['lease']['id'])
            self.leases.append(lease)
            seen(self.wait_for(lease, 'ACTIVE'))
            reservation = self.reservation(lease)['id']
            server = cast.accepted(self.demo.boot('stays', reservation))
            busy = self.expect_on(server, self.hosts)
        with self.step('the host of the server is not given back') as seen:
            refusal = body(self._change(lease, release_hosts=[busy]), 409)
            seen(refusal['error_message'])
        with self.step('another one is, without a word on which') as seen:
            body(self._change(lease, min=1, max=count - 1))
            left = until(
                f'{count - 1} hosts',
                lambda: self._hosts_of(lease),
                lambda hosts: len(hosts) == count - 1,
            )
            if busy not in left:
                raise person.Unexpected(f'{busy} among the hosts', left)
            expect('status', 'ACTIVE', self.operator.lease(lease)['status'])
            seen(', '.join({*self.hosts} - left))
        with self.step('alt has it at once') as seen:
            answer = self.alt.ask_lease(
                'next', None, cast.now() + cast.hours(1), 1
            )
            other = str(body(answer, 201)['lease']['id'])
            self.leases.append(other)
            seen(self.wait_for(other, 'ACTIVE'))
            expect('hosts', {*self.hosts} - left, self._hosts_of(other))

    def clean_up(self) -> None:
        with self.step('all leases are deleted'):
            for lease in self.leases:
                self.delete_lease(lease)
            self.leases.clear()

    # What the chapters are made of.

    def _at(self, hour: float) -> datetime.datetime:
        return self.day + cast.hours(hour)

    def _ask(
        self,
        who: person.Person,
        start: float,
        end: float,
        count: int,
        query: str = '',
        host: str | None = None,
    ) -> requests.Response:
        return who.reservation.post(
            f'/leases{query}',
            json={
                'name': 'planned',
                'start_date': self._at(start).isoformat(),
                'end_date': self._at(end).isoformat(),
                'reservations': [_hosts(count, host)],
            },
        )

    def _lease(
        self,
        who: person.Person,
        start: float,
        end: float,
        count: int,
        host: str | None = None,
    ) -> str:
        answer = self._ask(who, start, end, count, host=host)
        lease = str(body(answer, 201)['lease']['id'])
        self.leases.append(lease)
        return lease

    def _lease_beside(self, host: str, start: float, end: float) -> str:
        """Lease any host, while this one is taken."""
        other = self._lease(self.demo, start, end, 1, host)
        lease = self._lease(self.demo, start, end, 1)
        self.delete_lease(other)
        self.leases.remove(other)
        return lease

    def _change(self, lease: str, **asked: object) -> requests.Response:
        """Ask for something of the only reservation of demo's lease."""
        item = {'id': self.reservation(lease)['id'], **asked}
        return self.demo.reservation.put(
            f'/leases/{lease}', json={'reservations': [item]}
        )

    def _hosts_of(self, lease: str) -> set[str]:
        names = self.operator.enrolled()
        answer = self.operator.reservation.get('/os-hosts/allocations')
        return {
            names[held['resource_id']]
            for held in body(answer)['allocations']
            for each in held['reservations']
            if each['lease_id'] == lease
        }

    @staticmethod
    def _leases_of(who: person.Person) -> set[str]:
        leases = body(who.reservation.get('/leases'))['leases']
        return {lease['id'] for lease in leases}


def _hosts(count: int, name: str | None = None) -> dict[str, Any]:
    return {
        'resource_type': 'physical:host',
        'min': count,
        'max': count,
        'hypervisor_properties': f'["==", "$service_name", "{name}"]'
        if name
        else '',
        'resource_properties': '',
    }


def _promised(lease: Any) -> dict[str, Any]:
    """Return a lease without the time of its last change."""
    shown = {key: value for key, value in lease.items() if key != 'updated_at'}
    shown['reservations'] = [
        {key: value for key, value in item.items() if key != 'updated_at'}
        for item in lease['reservations']
    ]
    return shown


def _date(text: str) -> datetime.datetime:
    return datetime.datetime.fromisoformat(text).replace(tzinfo=datetime.UTC)
