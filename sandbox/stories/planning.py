# SPDX-License-Identifier: Apache-2.0
"""A full cloud: refusals that tell when, offers, promises that move, an
active lease that shrinks, a series, and the calendar."""

from typing import Any

import requests

from sandbox import person
from sandbox import story
from sandbox.person import body
from sandbox.polls import until
from sandbox.stories import cast
from sandbox.stories import drawing
from sandbox.stories import planned
from sandbox.stories import repeating
from sandbox.story import expect


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
    repeating.Repeating(auth_url, timeline).repeat()
    drawn = drawing.Drawing(auth_url, timeline)
    drawn.draw()
    drawn.clean_up()


class _Planning(planned.Planned):
    """The chapters, in the order in which they are told.

    All but the last are about a day to come.
    """

    def refuse_with_a_time(self) -> None:
        with self.step('demo leases all hosts for two hours'):
            self.lease(self.demo, 1, 3, len(self.hosts))
        with self.step('alt is told when there is room') as seen:
            answer = self.ask(self.alt, 2, 4, 1)
            refusal = body(answer, 400)
            expect(
                'start', self.at(3), planned.date(refusal['earliest_start'])
            )
            if 'free for as long from' not in refusal['error_message']:
                raise person.Unexpected('a time', refusal['error_message'])
            seen(refusal['error_message'])
        with self.step('demo is told for how long it can stay'):
            lease = self.lease(self.alt, 4, 5, len(self.hosts))
            late = {'end_date': self.at(6).isoformat()}
            answer = self.demo.reservation.put(
                f'/leases/{self.leases[0]}', json=late
            )
            refusal = body(answer, 400)
            expect('end', self.at(4), planned.date(refusal['latest_end']))
            self.delete_lease(lease)
            self.leases.remove(lease)

    def take_an_offer(self) -> None:
        with self.step('alt asks for offers') as seen:
            answer = self.alt.reservation.post(
                '/leases/offers',
                json={
                    'duration': '2h',
                    'start_after': self.at(2).isoformat(),
                    'limit': 1,
                    'reservations': [planned.of_hosts(1)],
                },
            )
            (offer,) = body(answer)['offers']
            expect('start', self.at(3), planned.date(offer['start_date']))
            seen(f'{offer["start_date"]} to {offer["end_date"]}')
        with self.step('it tries, which changes nothing, and takes it'):
            before = self._leases_of(self.alt)
            tried = self.ask(self.alt, 3, 5, 1, '?dry_run=true')
            body(tried, 201)
            expect('leases', before, self._leases_of(self.alt))
            self.lease(self.alt, 3, 5, 1)

    def move_a_promise(self) -> None:
        """Move a promise: each of the two free hosts is taken for an hour."""
        first, second, *others = self.hosts
        with self.step('two hosts are promised for an hour each'):
            for host in others:
                self.lease(self.demo, 0, 10, 1, host)
            early = self._lease_beside(second, 2, 3)
            late = self._lease_beside(first, 5, 6)
            expect('hosts', {first}, self.hosts_of(early))
            expect('hosts', {second}, self.hosts_of(late))
            shown = self.demo.lease(early), self.demo.lease(late)
        with self.step('a lease of all these hours fits all the same') as seen:
            whole = self.lease(self.alt, 1, 9, 1)
            expect(
                'hosts',
                {first, second} - self.hosts_of(whole),
                self.hosts_of(early) | self.hosts_of(late),
            )
            seen(f'on {self.hosts_of(whole).pop()}')
        with self.step('only the operator sees what has moved'):
            for old in shown:
                new = self.demo.lease(old['id'])
                expect('lease', _promised(old), _promised(new))
            answer = self.demo.reservation.get('/os-hosts/allocations')
            body(answer, 403)

    def shrink(self) -> None:
        """Give back a host of a lease while a server runs on another one."""
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
        with self.step('it sees which hosts it has, and the server'):
            (shown,) = self.demo.lease(lease)['reservations']
            names = sorted(host['service_name'] for host in shown['hosts'])
            expect('hosts', self.hosts, names)
            expect('servers', [server], shown['servers'])
        with self.step('the host of the server is not given back') as seen:
            refusal = body(self._change(lease, release_hosts=[busy]), 409)
            seen(refusal['error_message'])
        with self.step('another one is, without a word on which') as seen:
            body(self._change(lease, min=1, max=count - 1))
            left = until(
                f'{count - 1} hosts',
                lambda: self.hosts_of(lease),
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
            expect('hosts', {*self.hosts} - left, self.hosts_of(other))

    def _lease_beside(self, host: str, start: float, end: float) -> str:
        """Lease any host while this one is taken."""
        other = self.lease(self.demo, start, end, 1, host)
        lease = self.lease(self.demo, start, end, 1)
        self.delete_lease(other)
        self.leases.remove(other)
        return lease

    def _change(self, lease: str, **asked: object) -> requests.Response:
        """Ask for a change of the only reservation of demo's lease."""
        item = {'id': self.reservation(lease)['id'], **asked}
        return self.demo.reservation.put(
            f'/leases/{lease}', json={'reservations': [item]}
        )

    @staticmethod
    def _leases_of(who: person.Person) -> set[str]:
        leases = body(who.reservation.get('/leases'))['leases']
        return {lease['id'] for lease in leases}


def _promised(lease: Any) -> dict[str, Any]:
    """Return a lease without the time of its last change."""
    shown = {key: value for key, value in lease.items() if key != 'updated_at'}
    shown['reservations'] = [
        {key: value for key, value in item.items() if key != 'updated_at'}
        for item in lease['reservations']
    ]
    return shown
