# SPDX-License-Identifier: Apache-2.0
"""Hosts are enrolled, leased, used and given back, on a whole Nova."""

import datetime
import time

import requests

from sandbox import person
from sandbox import polls
from sandbox import story
from sandbox.person import body
from sandbox.polls import until
from sandbox.stories import cast
from sandbox.story import expect

#: Seconds by which a start may be late on an idle machine.
_LATE = 1.0


def tell(auth_url: str, timeline: story.Timeline) -> None:
    """Lease hosts: from enrolment to clean-up."""
    told = _HostLease(auth_url, timeline)
    told.enrol()
    told.refuse_ordinary_servers()
    lease = told.lease_at_once()
    told.use(lease)
    told.refuse_what_is_taken(lease)
    told.extend_and_shorten(lease)
    told.end_now(lease)
    told.end_during_a_build()
    lease = told.start_on_time()
    told.delete(lease)
    told.look_what_is_left()


class _HostLease(cast.Cast):
    """The chapters, in the order in which they are told."""

    def __init__(self, auth_url: str, timeline: story.Timeline) -> None:
        super().__init__(auth_url, timeline)
        #: All hosts but the last are enrolled.
        *self.hosts, self.ordinary = self.operator.hosts()
        #: Id of a server that has nothing to do with any lease.
        self.bystander = ''
        #: Ids of all reservations that there were.
        self.reservations: list[str] = []

    def enrol(self) -> None:
        with self.step('the operator enrolls all hosts but one') as seen:
            self.enrol_all_of(self.hosts)
            self._expect_pool()
            seen(f'{", ".join(self.hosts)} in freepool, with the trait')

    def refuse_ordinary_servers(self) -> None:
        with self.step(
            'an ordinary server lands on the ordinary host'
        ) as seen:
            self.bystander = cast.accepted(self.demo.boot('ordinary'))
            self.expect_on(self.bystander, [self.ordinary])
            seen(self.ordinary)
        with self.step('there is no host for it without that one') as seen:
            self.operator.set_compute(self.ordinary, 'disabled')
            seen(self.expect_no_host(self.demo.boot('homeless')))
            self.operator.set_compute(self.ordinary, 'enabled')
        with self.step('nor if an operator names an enrolled one') as seen:
            zone = f'nova:{self.hosts[0]}'
            forced = self.operator.boot('forced', availability_zone=zone)
            seen(self.expect_no_host(forced))

    def lease_at_once(self) -> str:
        with self.step(
            f'demo leases {len(self.hosts)} hosts from now'
        ) as seen:
            began = time.monotonic()
            lease = self._lease(
                None, cast.now() + cast.hours(1), len(self.hosts)
            )
            seen(f'created in {time.monotonic() - began:.2f} s')
            left = _LATE - (time.monotonic() - began) / polls.slowness()
            self.wait_for(lease, 'ACTIVE', left)
            seen(f'ACTIVE after {time.monotonic() - began:.2f} s')
        with self.step('they are in its aggregate, and still in the pool'):
            aggregate = self.operator.aggregates()[
                self.reservation(lease)['id']
            ]
            expect('hosts', self.hosts, sorted(aggregate['hosts']))
            self._expect_pool()
        return lease

    def use(self, lease: str) -> None:
        reservation = self.reservation(lease)['id']
        with self.step(
            'its server with the hint lands on a host of it'
        ) as seen:
            server = cast.accepted(self.demo.boot('leased', reservation))
            seen(self.expect_on(server, self._hosts_of(lease)))
        with self.step("another project's with the hint is refused") as seen:
            seen(cast.refusal(self.alt.boot('thief', reservation), 404))
        with self.step('so is one that names no lease') as seen:
            seen(cast.refusal(self.demo.boot('typo', 'mine'), 404))

    def refuse_what_is_taken(self, lease: str) -> None:
        end = cast.end_of(self.demo.lease(lease))
        with self.step('no other lease gets these hosts meanwhile') as seen:
            answer = self.alt.ask_lease('greedy', None, end, 1)
            seen(cast.refusal(answer, 400))
        with self.step('one right after it does') as seen:
            answer = self.alt.ask_lease(
                'next', end, end + cast.hours(1), len(self.hosts)
            )
            following = body(answer, 201)['lease']
            expect('status', 'PENDING', following['status'])
            seen(f'PENDING from {end:%H:%M:%S}')
        with self.step('which can not be used yet') as seen:
            reservation = following['reservations'][0]['id']
            seen(cast.refusal(self.alt.boot('early', reservation), 409))
        with self.step('and stops the first from being extended') as seen:
            later = {'end_date': (end + cast.hours(1)).isoformat()}
            seen(cast.refusal(self._change(lease, later), 400))
        with self.step('a lease that has not begun goes when deleted') as seen:
            body(
                self.alt.reservation.delete(f'/leases/{following["id"]}'), 204
            )
            expect('lease', None, self.alt.lease(following['id']))
            seen('404')

    def extend_and_shorten(self, lease: str) -> None:
        end = cast.end_of(self.demo.lease(lease))
        for what, new in (
            ('extended', end + cast.hours(1)),
            ('shortened', end - cast.hours(0.5)),
        ):
            with self.step(f'the first lease is {what}') as seen:
                change = {'end_date': new.isoformat()}
                body(self._change(lease, change))
                expect('end', new, cast.end_of(self.demo.lease(lease)))
                seen(f'until {new:%H:%M:%S}')

    def end_now(self, lease: str) -> None:
        with self.step('the first lease is ended') as seen:
            hosts = self._hosts_of(lease)
            began = time.monotonic()
            body(self._change(lease, {'end_date': 'now'}))
            self.wait_for(lease, 'TERMINATED')
            seen(f'TERMINATED after {time.monotonic() - began:.2f} s')
            self._expect_empty(hosts)
            seen('its server is gone')

    def end_during_a_build(self) -> None:
        with self.step('demo leases a host for 6 seconds') as seen:
            end = cast.now() + datetime.timedelta(seconds=6)
            lease = self._lease(None, end, 1)
            hosts = self._hosts_of(lease)
            self.wait_for(lease, 'ACTIVE', _LATE)
            seen(hosts[0])
        with self.step('and begins to build a server that takes 9') as seen:
            server = cast.accepted(
                self.demo.boot(
                    'slow',
                    self.reservation(lease)['id'],
                    metadata={'build_seconds': '9'},
                )
            )
            task = until(
                'spawning',
                lambda: self.demo.server(server)['OS-EXT-STS:task_state'],
                lambda task: task == 'spawning',
            )
            seen(task)
        with self.step('when the lease ends, it takes in no more') as seen:
            self.wait_for(lease, 'TERMINATING')
            answer = self.demo.boot('late', self.reservation(lease)['id'])
            seen(cast.refusal(answer, 409))
        with self.step('it waits for the server to be built and gone') as seen:
            self.wait_for(lease, 'TERMINATED')
            expect('server', None, self.demo.server(server))
            self._expect_empty(hosts)
            seen(
                f'TERMINATED {(cast.now() - end).total_seconds():.1f} s later'
            )

    def start_on_time(self) -> str:
        with self.step('demo leases 2 hosts from 6 seconds later on') as seen:
            start = cast.now() + datetime.timedelta(seconds=6)
            lease = self._lease(start, start + cast.hours(1), 2)
            self.wait_for(lease, 'ACTIVE', 6 + 2 * _LATE)
            late = (
                datetime.datetime.now(datetime.UTC) - start
            ).total_seconds()
            limit = _LATE * polls.slowness()
            if not 0 <= late <= limit:
                raise person.Unexpected(f'at most {limit:.1f} s late', late)
            (event,) = (
                each
                for each in self.demo.lease(lease)['events']
                if each['event_type'] == 'start_lease'
            )
            expect('start event', 'DONE', event['status'])
            seen(f'ACTIVE {late:.2f} s after {start:%H:%M:%S}')
        with self.step('and has a server there') as seen:
            server = cast.accepted(
                self.demo.boot('punctual', self.reservation(lease)['id'])
            )
            seen(self.expect_on(server, self._hosts_of(lease)))
        return lease

    def delete(self, lease: str) -> None:
        with self.step('the lease is deleted') as seen:
            hosts = self._hosts_of(lease)
            began = time.monotonic()
            body(self.demo.reservation.delete(f'/leases/{lease}'), 204)
            seen(f'answered after {time.monotonic() - began:.2f} s')
            left = self.demo.lease(lease)
            expect('status', 'DELETING', left and left['status'])
            self.wait_until_gone(lease)
            seen(f'DELETING, gone after {time.monotonic() - began:.2f} s')
            self._expect_empty(hosts)
            seen('its server is gone')

    def look_what_is_left(self) -> None:
        with self.step('the ordinary server has lived through it') as seen:
            server = self.demo.server(self.bystander)
            expect('status', 'ACTIVE', server['status'])
            seen(server['status'])
            body(self.demo.compute.delete(f'/servers/{self.bystander}'), 204)
            until(
                'gone',
                lambda: self.demo.server(self.bystander),
                lambda server: server is None,
            )
        with self.step('the enrolled hosts are empty and free'):
            self._expect_empty(self.hosts)
            allocations = body(
                self.operator.reservation.get('/os-hosts/allocations')
            )['allocations']
            for host in allocations:
                expect('reservations', [], host['reservations'])
        with self.step('and as they were after enrolment'):
            self._expect_pool()
        with self.step('Nova and placement have no trace of the leases'):
            aggregates = self.operator.aggregates()
            expect('aggregates', set(), {*self.reservations} & {*aggregates})
            for host in self.hosts:
                expect(
                    f'aggregates of {host} in placement',
                    {
                        each['uuid']
                        for each in aggregates.values()
                        if host in each['hosts']
                    },
                    set(self.operator.provider(host, 'aggregates')),
                )

    # What the chapters are made of.

    def _lease(
        self,
        start: datetime.datetime | None,
        end: datetime.datetime,
        count: int,
    ) -> str:
        answer = self.demo.ask_lease('story', start, end, count)
        lease = body(answer, 201)['lease']
        expect('status', 'PENDING', lease['status'])
        self.reservations += [each['id'] for each in lease['reservations']]
        return str(lease['id'])

    def _change(self, lease: str, change: dict[str, str]) -> requests.Response:
        return self.demo.reservation.put(f'/leases/{lease}', json=change)

    def _hosts_of(self, lease: str) -> list[str]:
        """Return the hosts that a lease has been given."""
        names = self.operator.enrolled()
        allocations = body(
            self.operator.reservation.get(
                f'/os-hosts/allocations?lease_id={lease}'
            )
        )['allocations']
        return [
            names[each['resource_id']]
            for each in allocations
            if each['reservations']
        ]

    def _expect_pool(self) -> None:
        """Check that exactly the enrolled hosts are in the pool's aggregate,
        and have its trait."""
        pool = self.operator.aggregates()['freepool']
        expect('freepool', self.hosts, sorted(pool['hosts']))
        for host in (*self.hosts, self.ordinary):
            mark = (
                pool['uuid'] in self.operator.provider(host, 'aggregates'),
                person.POOL_TRAIT in self.operator.provider(host, 'traits'),
            )
            enrolled = host in self.hosts
            expect(f'{host} marked', (enrolled, enrolled), mark)

    def _expect_empty(self, hosts: list[str]) -> None:
        """Check that Nova and placement have nothing on these hosts."""
        for host in hosts:
            expect(f'servers on {host}', [], self.operator.servers_on(host))
            expect(
                f'allocations of {host}',
                {},
                self.operator.provider(host, 'allocations'),
            )
