# SPDX-License-Identifier: Apache-2.0
"""One of two cells does not answer: nothing else notices."""

import contextlib
import datetime
import time

from sandbox import config
from sandbox import ini
from sandbox import layout as lo
from sandbox import person
from sandbox import polls
from sandbox import story
from sandbox.person import body
from sandbox.polls import until
from sandbox.stories import cast
from sandbox.story import expect

#: Seconds for which a compute must be silent to count as failed.
_SERVICE_DOWN_TIME = 20
_DOWN_AFTER = 5

#: Seconds from the last report of a compute until its failure is noticed.
_UNSEEN = _SERVICE_DOWN_TIME + _DOWN_AFTER + 30

CONF: ini.Sections = {
    'DEFAULT': {'service_down_time': _SERVICE_DOWN_TIME},
    'reservations': {
        'enable_polling_monitor': True,
        'polling_interval': 2,
        'down_after': _DOWN_AFTER,
    },
}

#: Seconds to answer, to start a lease, and to end one with its server, if
#: nothing is in the way.
_ANSWER = 3
_START = 3
_END = 20

#: Seconds to build a server; Nova gives up a cell that hangs before.
_BUILT = 30 + 6 * config.CELL_TIMEOUT

#: Seconds in which everything is done after a cell is back.
_SETTLED = 120


def tell(auth_url: str, timeline: story.Timeline) -> None:
    """Take a cell's database away, have it hang, and bring it back."""
    told = _Cells(auth_url, timeline)
    told.enrol()
    wire = timeline.services.wires['cell2'].database
    told.live_without_the_other('refuses', wire.cut())
    told.live_without_the_other('hangs', wire.hanging())
    told.live_with_both()


class _Cells(cast.Cast):
    """The chapters, in the order in which they are told.

    To list servers, services or hypervisors Nova itself queries all cells, and
    fails or waits if one is silent. So the story requests no such lists
    meanwhile. Nova also queries all cells before it accepts a request for a
    server, and when it looks for the server's host: this takes longer while a
    cell hangs.
    """

    def __init__(self, auth_url: str, timeline: story.Timeline) -> None:
        super().__init__(auth_url, timeline)
        self.services = timeline.services
        here, there = timeline.services.layout.cells
        *self.here, self.late, self.ordinary = here.hosts
        self.there: lo.Cell = there
        # A retry is needed: nova-api may be closing an idle connection.
        for who in (self.operator, self.demo, self.alt):
            for api in (who.compute, who.reservation):
                api.connect_retries = 1

    def enrol(self) -> None:
        with self.step('the operator enrolls hosts of both cells') as seen:
            hosts = [*self.here, *self.there.hosts]
            self.enrol_all_of(hosts)
            seen(', '.join(hosts))

    def live_without_the_other(
        self, what: str, silence: contextlib.AbstractContextManager[None]
    ) -> None:
        """Tell of a lease of the one cell while the other is silent."""
        with self.step(f'alt has a host of {self.there.name}'):
            old = self._lease(self.alt, self.there.hosts[0])
            old_server = self._use(self.alt, old, self.there.hosts[0])
        with silence:
            began = time.monotonic()
            with self.step(f'the database of {self.there.name} {what}'):
                pass
            self._lease_here()
            self._end_there(old)
            self._enrol_here()
            self._boot_here()
            self._kill_here()
            with self.step(f'all that {self.there.name} is silent') as seen:
                self._expect_there_as_it_was(old)
                seen(f'for {time.monotonic() - began:.0f} s')
        with self.step(f'{self.there.name} is back: its lease ends') as seen:
            seen(self.wait_for(old, 'TERMINATED', _SETTLED))
            expect('server', None, self.alt.server(old_server))
            self._expect_free(self.there.hosts[0])

    def live_with_both(self) -> None:
        """Tell that nothing is left of all that."""
        with self.step('a host of each cell is leased, used and given back'):
            for host in (self.here[0], self.there.hosts[0]):
                lease = self._lease(self.demo, host)
                self._use(self.demo, lease, host)
                self._end(self.demo, lease)
                self._expect_free(host)
        with self.step('all hosts are known to both') as seen:
            expect(
                'hosts',
                sorted(self.services.layout.hosts),
                self.operator.hosts(),
            )
            seen(f'{len(self.services.layout.hosts)} hosts')

    # The cell that answers.

    def _lease_here(self) -> None:
        with self.step('demo leases a host, uses it, and ends that') as seen:
            began = time.monotonic()
            host = self.here[0]
            lease = self._lease(self.demo, host)
            seen(f'ACTIVE after {time.monotonic() - began:.1f} s')
            began = time.monotonic()
            self._use(self.demo, lease, host)
            seen(f'server after {time.monotonic() - began:.1f} s')
            began = time.monotonic()
            self._end(self.demo, lease)
            self._expect_free(host)
            seen(f'given back after {time.monotonic() - began:.1f} s')

    def _enrol_here(self) -> None:
        with self.step('the operator enrolls another host') as seen:
            began = time.monotonic()
            answer = self.operator.reservation.post(
                '/os-hosts', json={'name': self.late}
            )
            enrolled = body(answer, 201)['host']
            seen(f'{self.late} after {time.monotonic() - began:.1f} s')
            self._expect_soon(began, _ANSWER)
        with self.step('demo leases that one, too') as seen:
            began = time.monotonic()
            lease = self._lease(self.demo, self.late)
            seen(f'ACTIVE after {time.monotonic() - began:.1f} s')
            began = time.monotonic()
            self._end(self.demo, lease)
            seen(f'TERMINATED after {time.monotonic() - began:.1f} s')
        with self.step('the operator removes it'):
            body(
                self.operator.reservation.delete(
                    f'/os-hosts/{enrolled["id"]}'
                ),
                204,
            )

    def _boot_here(self) -> None:
        with self.step('an ordinary server is built as ever') as seen:
            began = time.monotonic()
            server = cast.accepted(self.demo.boot('ordinary'))
            self.expect_on(server, [self.late, self.ordinary], _BUILT)
            seen(f'after {time.monotonic() - began:.1f} s')
            body(self.demo.compute.delete(f'/servers/{server}'), 204)
            until(
                'gone',
                lambda: self.demo.server(server),
                lambda it: it is None,
            )

    def _kill_here(self) -> None:
        lease = self._lease(self.demo, *self.here)
        mortal = self._host_of(lease)
        (other,) = {*self.here} - {mortal}
        compute = f'nova-compute@{mortal}'
        with self.step(f'{mortal}, leased again, is killed') as seen:
            began = time.monotonic()
            self.services.kill(compute)
            self._until_reservable(mortal, False)
            seen(f'seen after {time.monotonic() - began:.0f} s')
        with self.step('its lease gets another host') as seen:
            until(
                f'on {other}',
                lambda: self._host_of(lease),
                lambda host: host == other,
                _UNSEEN,
            )
            seen(f'{other} after {time.monotonic() - began:.0f} s')
            self._end(self.demo, lease)
        with self.step(f'{mortal} is back'):
            self.services.restart(compute)
            self._until_reservable(mortal, True)

    # The cell that is silent.

    def _end_there(self, lease: str) -> None:
        with self.step(
            f"the lease of {self.there.name}'s host is to end, and waits"
        ) as seen:
            self._ask_end(self.alt, lease)
            seen(self.wait_for(lease, 'TERMINATING', _START))

    def _expect_there_as_it_was(self, lease: str) -> None:
        for host in self.there.hosts:
            expect(f'{host} reservable', True, self._reservable()[host])
        shown = self.operator.lease(lease)
        expect('status', 'TERMINATING', shown['status'])
        expect('degraded', False, shown['degraded'])

    # What the chapters are made of.

    def _lease(self, who: person.Person, *hosts: str) -> str:
        """Lease one of the hosts from now on; return when the lease has
        begun."""
        began = time.monotonic()
        named = ', '.join(f'["==", "$service_name", "{h}"]' for h in hosts)
        answer = who.ask_lease_of(
            'cells',
            None,
            cast.now() + datetime.timedelta(hours=1),
            {
                'resource_type': 'physical:host',
                'min': 1,
                'max': 1,
                'hypervisor_properties': f'["or", {named}]',
                'resource_properties': '',
            },
        )
        lease = str(body(answer, 201)['lease']['id'])
        self._expect_soon(began, _ANSWER)
        self.wait_for(lease, 'ACTIVE', _START)
        return lease

    def _use(self, who: person.Person, lease: str, host: str) -> str:
        reservation = self.reservation(lease)['id']
        server = cast.accepted(who.boot('leased', reservation))
        self.expect_on(server, [host], _BUILT)
        return server

    def _ask_end(self, who: person.Person, lease: str) -> None:
        body(who.reservation.put(f'/leases/{lease}', json={'end_date': 'now'}))

    def _end(self, who: person.Person, lease: str) -> None:
        self._ask_end(who, lease)
        self.wait_for(lease, 'TERMINATED', _END)

    def _host_of(self, lease: str) -> str:
        """Return the host that the lease has now."""
        names = self.operator.enrolled()
        allocations = body(
            self.operator.reservation.get(
                f'/os-hosts/allocations?lease_id={lease}'
            )
        )['allocations']
        _, name = max(
            (each['end_date'], names[host['resource_id']])
            for host in allocations
            for each in host['reservations']
        )
        return name

    def _expect_free(self, host: str) -> None:
        expect(
            f'allocations of {host}',
            {},
            self.operator.provider(host, 'allocations'),
        )

    def _expect_soon(self, began: float, seconds: float) -> None:
        """Check that only so much time has passed, on an idle machine."""
        limit = seconds * polls.slowness()
        elapsed = time.monotonic() - began
        if elapsed > limit:
            raise person.Unexpected(f'at most {limit:.1f} s', elapsed)

    def _reservable(self) -> dict[str, bool]:
        hosts = body(self.operator.reservation.get('/os-hosts'))['hosts']
        return {
            each['hypervisor_hostname']: each['reservable'] for each in hosts
        }

    def _until_reservable(self, host: str, reservable: bool) -> None:
        until(
            f'{host} reservable: {reservable}',
            self._reservable,
            lambda seen: seen[host] == reservable,
            _UNSEEN,
        )
