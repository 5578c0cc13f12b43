# SPDX-License-Identifier: Apache-2.0
"""Leases of an hour that a fault holds, beside those of users."""

from collections.abc import Collection
from collections.abc import Mapping
import datetime

import requests

from sandbox import person
from sandbox import polls
from sandbox import story
from sandbox.faults import faults
from sandbox.faults import verdict


class Leases:
    """Leases of an hour, beside those of users."""

    def __init__(self, scene: faults.Scene) -> None:
        auth_url = scene.services.layout.auth_url
        self.operator = person.Operator(auth_url)
        self._user = person.Person(auth_url, 'alt')
        self._begun: list[str] = []

    def begin_each(self, hosts: Collection[str]) -> dict[str, str]:
        """Lease each of these hosts as soon as it is free; return host ->
        lease."""
        return {host: self.begin([host]) for host in hosts}

    def serve(self, hosts: Collection[str]) -> None:
        """Check that a lease of one of these hosts begins and ends."""
        self._end(self.begin(hosts))

    def end_all(self) -> None:
        for lease in [*self._begun]:
            self._end(lease)

    def expect_moved(self, lease: str, host: str, seconds: float) -> None:
        """Expect that a lease gets another host within this time."""
        polls.until(
            f'{lease} is not on {host}',
            lambda: self.host_of(lease),
            lambda seen: seen != host,
            seconds,
        )

    def expect_held(self, hosts: Mapping[str, str]) -> None:
        """Expect that nothing was moved.

        :param hosts: host -> the lease that has it
        """
        story.expect(
            'the hosts of leases',
            [*hosts],
            [self.host_of(lease) for lease in hosts.values()],
        )

    def reservable(self) -> set[str]:
        hosts = person.body(self.operator.reservation.get('/os-hosts'))
        return {
            each['hypervisor_hostname']
            for each in hosts['hosts']
            if each['reservable']
        }

    def wait_until_reservable(self, host: str) -> None:
        polls.until(
            f'{host} is reservable',
            self.reservable,
            lambda seen: host in seen,
            60,
        )

    def begin(self, hosts: Collection[str]) -> str:
        """Lease one of these hosts as soon as one is free."""
        lease = polls.until(
            f'one of {hosts} is free', lambda: self._ask(hosts), bool, 60
        )
        self._begun.append(lease)
        self._wait_for(lease, 'ACTIVE')
        return lease

    def _ask(self, hosts: Collection[str]) -> str:
        """Ask for a lease of one of the hosts; return None if others have
        them."""
        answer = self.request(hosts)
        if person.no_room(answer):
            return ''
        return str(person.body(answer, 201)['lease']['id'])

    def request(self, hosts: Collection[str]) -> requests.Response:
        """Ask for a lease of one of the hosts; return the answer."""
        named = ', '.join(f'["==", "$service_name", "{h}"]' for h in hosts)
        end = datetime.datetime.now(datetime.UTC) + datetime.timedelta(hours=1)
        return self._user.ask_lease_of(
            'stays',
            None,
            end.replace(microsecond=0),
            {
                'resource_type': 'physical:host',
                'min': 1,
                'max': 1,
                'hypervisor_properties': f'["or", {named}]',
                'resource_properties': '',
            },
        )

    def boot(self, lease: str) -> str:
        """Have a server built in a lease; return its host."""
        reservation, *_ = self._user.lease(lease)['reservations']
        booted = person.body(self._user.boot('stays', reservation['id']), 202)
        server = polls.until(
            'a server in a lease',
            lambda: self.operator.server(booted['server']['id']),
            lambda seen: seen['status'] in ('ACTIVE', 'ERROR'),
            60,
        )
        story.expect('the status of a server', 'ACTIVE', server['status'])
        return str(server['OS-EXT-SRV-ATTR:host'])

    def lacks(self, lease: str) -> bool:
        """Return whether a lease says that it has less than it asked for."""
        reservation, *_ = self._user.lease(lease)['reservations']
        return bool(reservation['missing_resources'])

    def _end(self, lease: str) -> None:
        change = {'end_date': 'now'}
        person.body(
            self._user.reservation.put(f'/leases/{lease}', json=change)
        )
        self._wait_for(lease, 'TERMINATED')
        self._begun.remove(lease)

    def _wait_for(self, lease: str, status: str) -> None:
        polls.until(
            f'the lease to be {status}',
            lambda: self._user.lease(lease)['status'],
            lambda seen: seen == status,
            verdict.SETTLING,
        )

    def host_of(self, lease: str) -> str:
        """Return the host that the lease has until the latest time."""
        names = self.operator.enrolled()
        allocations = person.body(
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
