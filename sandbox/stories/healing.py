# SPDX-License-Identifier: Apache-2.0
"""A host fails: active leases get another host at once. Leases in the future
get another one only if the host is not back by then."""

import datetime

from sandbox import config
from sandbox import person
from sandbox import story
from sandbox.person import body
from sandbox.polls import until
from sandbox.stories import cast
from sandbox.story import expect

#: The time between two checks.
_INTERVAL = datetime.timedelta(seconds=config.HEALING_INTERVAL)

#: Seconds from the last report of a compute until its failure is noticed.
_UNSEEN = config.SERVICE_DOWN_TIME + config.DOWN_AFTER + 30


def tell(auth_url: str, timeline: story.Timeline) -> None:
    """Stop computes: with and without a spare host, and with one that is
    back in time."""
    told = _Healing(auth_url, timeline)
    told.enrol()
    told.heal_three_reservations()
    told.leave_alone_what_recovers_in_time()
    told.leave_alone_what_is_disabled()
    told.give_back_what_was_not_used()
    told.have_no_spare_host()


class _Healing(cast.Cast):
    """The chapters, in the order in which they are told."""

    def __init__(self, auth_url: str, timeline: story.Timeline) -> None:
        super().__init__(auth_url, timeline)
        #: All hosts but the last are enrolled.
        *self.hosts, _ = self.operator.hosts()

    def enrol(self) -> None:
        with self.step('the operator enrolls all hosts but one') as seen:
            self.enrol_all_of(self.hosts)
            seen(', '.join(self.hosts))

    def heal_three_reservations(self) -> None:
        """The timeline of the seed."""
        with self.step('alt has all hosts but one for a moment'):
            others = [self._lease(self.alt, 0, 3600) for _ in self.hosts[1:]]
        with self.step('demo reserves that one for three times') as seen:
            begun = _now()
            failure = begun + 1.2 * _INTERVAL
            first, second, third = (
                self._lease_between(failure, start, end)
                for start, end in ((None, 0.8), (0.9, 1.9), (2.4, 4.0))
            )
            for lease in others:
                self.delete_lease(lease, 60)
            host = self._host_of(first)
            for lease in (second, third):
                expect('host', host, self._host_of(lease))
            seen(host)
        with self.step('and has a server there') as seen:
            self.wait_for(first, 'ACTIVE')
            reservation = self.reservation(first)['id']
            server = cast.accepted(self.demo.boot('healed', reservation))
            seen(self.expect_on(server, [host]))
        with self.step('point 1: a check finds nothing'):
            _wait(failure)
            for lease in (first, second, third):
                self._expect(lease, host)
        with self.step(
            'point 2: its compute stops, and is fenced: two are healed'
        ) as seen:
            failed = _now()
            self._stop(host)
            self.operator.force_down(host, True)
            self._until_on_another(first, host)
            late = (_now() - failed).total_seconds()
            self._until_on_another(second, host)
            self._expect(first, changed=True)
            self._expect(second)
            self._expect(third, host)
            seen(f'{self._host_of(first)} after {late:.1f} s')
        with self.step('its server is evacuated to the new host') as seen:
            new = self._host_of(first)
            until(
                f'on {new}',
                lambda: self.operator.server(server),
                lambda it: (
                    it['OS-EXT-SRV-ATTR:host'] == new
                    and it['status'] == 'ACTIVE'
                ),
            )
            seen(new)
        with self.step('point 3: a check finds nothing to heal') as seen:
            _wait(failed + 1.4 * _INTERVAL)
            self._expect(third, host)
            seen(f'the third is still on {host}')
        with self.step('point 4: a check heals the third') as seen:
            self._until_on_another(third, host, 1.6 * _INTERVAL)
            self._expect(third)
            seen(self._host_of(third))
        with self.step('the host recovers') as seen:
            self._recover(host)
            seen(f'{host} is reservable')
        with self.step(
            'point 5: a check finds nothing, and it starts'
        ) as seen:
            new = self._host_of(third)
            self.wait_for(third, 'ACTIVE')
            self._expect(third, new)
            seen(new)
        with self.step('all of it is over'):
            for lease in (first, second):
                self.wait_for(lease, 'TERMINATED', 60)
                self._expect(lease)
            self.delete_lease(third, 60)

    def leave_alone_what_recovers_in_time(self) -> None:
        with self.step('a host fails long before a lease needs it') as seen:
            failed = _now()
            lease = self._lease_between(failed, 2.4, 4.0)
            host = self._host_of(lease)
            self._stop(host)
            self.operator.force_down(host, True)
            self._until_reservable(host, False)
            seen(host)
        with self.step('and is back before a check would heal it'):
            _wait(failed + 0.8 * _INTERVAL)
            self._recover(host)
        with self.step('the lease starts where it was') as seen:
            self.wait_for(lease, 'ACTIVE', 2 * config.HEALING_INTERVAL)
            self._expect(lease, host)
            seen(host)
            self.delete_lease(lease, 60)

    def leave_alone_what_is_disabled(self) -> None:
        with self.step('demo has a host, and a server there') as seen:
            lease = self._lease(self.demo, 0, 3600)
            self.wait_for(lease, 'ACTIVE')
            host = self._host_of(lease)
            reservation = self.reservation(lease)['id']
            server = cast.accepted(self.demo.boot('stays', reservation))
            seen(self.expect_on(server, [host]))
        with self.step('the operator disables the host: no new lease'):
            self.operator.disable(host, True)
            self._until_reservable(host, False)
        with self.step('demo keeps it, and lacks nothing') as seen:
            self._expect(lease, host)
            seen(self.expect_on(server, [host]))
        with self.step('it is enabled again'):
            self.operator.disable(host, False)
            self._until_reservable(host, True)
            self.delete_lease(lease, 60)

    def give_back_what_was_not_used(self) -> None:
        with self.step('demo has a host, and nothing on it yet') as seen:
            lease = self._lease(self.demo, 0, 3600)
            self.wait_for(lease, 'ACTIVE')
            host = self._host_of(lease)
            seen(host)
        with self.step('it is forced down: demo gets another') as seen:
            self._stop(host)
            self.operator.force_down(host, True)
            self._until_on_another(lease, host)
            self._expect(lease, changed=True)
            seen(self._host_of(lease))
        with self.step('it is back: the other, unused, is given back') as seen:
            self._recover(host)
            until(
                f'on {host}',
                lambda: self._host_of(lease),
                lambda name: name == host,
                30,
            )
            self._expect(lease, host)
            seen(host)
            self.delete_lease(lease, 60)

    def have_no_spare_host(self) -> None:
        with self.step('all hosts are leased') as seen:
            lease = self._lease(self.demo, 0, 3600)
            others = [self._lease(self.alt, 0, 3600) for _ in self.hosts[1:]]
            self.wait_for(lease, 'ACTIVE')
            for other in others:
                self.wait_for(other, 'ACTIVE')
            host = self._host_of(lease)
            seen(host)
        with self.step('one stops reporting: its lease lacks a host') as seen:
            failed = _now()
            self._stop(host)
            until(
                'missing_resources',
                lambda: self.reservation(lease),
                lambda it: it['missing_resources'],
                _UNSEEN,
            )
            self._expect(lease, missing=True)
            seen(f'seen after {(_now() - failed).total_seconds():.0f} s')
        with self.step('no server can be had there') as seen:
            reservation = self.reservation(lease)['id']
            answer = self.demo.boot('nowhere', reservation)
            seen(cast.refusal(answer, 409))
        with self.step('it is back, and the lease is whole') as seen:
            self._start(host)
            until(
                'whole',
                lambda: self.reservation(lease),
                lambda it: not it['missing_resources'],
                _UNSEEN,
            )
            self._expect(lease, host)
            server = cast.accepted(self.demo.boot('back', reservation))
            seen(self.expect_on(server, [host]))
        with self.step('all of it is over'):
            for one in (lease, *others):
                self.delete_lease(one, 60)

    # What the chapters are made of.

    def _lease(self, who: person.Person, start: float, end: float) -> str:
        """Lease a host; start and end are seconds from now on."""
        now = _now()
        answer = who.ask_lease(
            'healing',
            now + datetime.timedelta(seconds=start) if start else None,
            now + datetime.timedelta(seconds=end),
            1,
        )
        return str(body(answer, 201)['lease']['id'])

    def _lease_between(
        self, failure: datetime.datetime, start: float | None, end: float
    ) -> str:
        """Lease a host; start and end are in intervals after its failure.
        Without a start, lease it from now on."""
        answer = self.demo.ask_lease(
            'healing',
            None if start is None else _whole(failure + start * _INTERVAL),
            _whole(failure + end * _INTERVAL),
            1,
        )
        return str(body(answer, 201)['lease']['id'])

    def _host_of(self, lease: str) -> str:
        """Return the host that the lease has now, which is the one that it
        has until the latest time."""
        names = self.operator.enrolled()
        found = [
            (each['end_date'], names[host['resource_id']])
            for host in body(
                self.operator.reservation.get(
                    f'/os-hosts/allocations?lease_id={lease}'
                )
            )['allocations']
            for each in host['reservations']
        ]
        _, name = max(found)
        return name

    def _until_on_another(
        self,
        lease: str,
        host: str,
        within: datetime.timedelta = datetime.timedelta(seconds=30),
    ) -> None:
        until(
            f'not on {host}',
            lambda: self._host_of(lease),
            lambda name: name != host,
            within.total_seconds(),
        )

    def _expect(
        self,
        lease: str,
        host: str | None = None,
        missing: bool = False,
        changed: bool = False,
    ) -> None:
        if host is not None:
            expect('host', host, self._host_of(lease))
        shown = self.operator.lease(lease)
        (reservation,) = shown['reservations']
        expect('missing_resources', missing, reservation['missing_resources'])
        expect('resources_changed', changed, reservation['resources_changed'])
        expect('degraded', missing or changed, shown['degraded'])

    def _stop(self, host: str) -> None:
        body(self.operator.root.post(f'/sandbox/computes/{host}/stop'), 204)

    def _start(self, host: str) -> None:
        body(self.operator.root.post(f'/sandbox/computes/{host}/start'), 204)

    def _recover(self, host: str) -> None:
        self._start(host)
        self.operator.force_down(host, False)
        self._until_reservable(host, True)

    def _until_reservable(self, host: str, reservable: bool) -> None:
        def look() -> bool:
            hosts = body(self.operator.reservation.get('/os-hosts'))['hosts']
            (found,) = (
                each['reservable']
                for each in hosts
                if each['hypervisor_hostname'] == host
            )
            return bool(found)

        until(
            f'reservable: {reservable}',
            look,
            lambda seen: seen == reservable,
            30,
        )


def _now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)


def _whole(when: datetime.datetime) -> datetime.datetime:
    return when.replace(microsecond=0)


def _wait(when: datetime.datetime) -> None:
    """Wait until a time."""
    until(f'{when:%H:%M:%S}', _now, lambda now: now >= when, 3600)
