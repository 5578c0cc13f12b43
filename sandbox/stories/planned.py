# SPDX-License-Identifier: Apache-2.0
"""A day in the future on which all hosts can be leased."""

import datetime
from typing import Any

import requests

from sandbox import person
from sandbox import story
from sandbox.person import body
from sandbox.polls import until
from sandbox.stories import cast


class Planned(cast.Cast):
    """Leases at hours of that day, for several chapters."""

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

    def clean_up(self) -> None:
        with self.step('all leases are deleted'):
            for lease in self.leases:
                self.delete_lease(lease)
            self.leases.clear()

    def at(self, hour: float) -> datetime.datetime:
        return self.day + cast.hours(hour)

    def ask(
        self,
        who: person.Person,
        start: float,
        end: float,
        count: int,
        query: str = '',
        host: str | None = None,
        name: str = 'planned',
    ) -> requests.Response:
        return who.reservation.post(
            f'/leases{query}',
            json={
                'name': name,
                'start_date': self.at(start).isoformat(),
                'end_date': self.at(end).isoformat(),
                'reservations': [of_hosts(count, host)],
            },
        )

    def lease(
        self,
        who: person.Person,
        start: float,
        end: float,
        count: int,
        host: str | None = None,
        name: str = 'planned',
    ) -> str:
        answer = self.ask(who, start, end, count, host=host, name=name)
        lease = str(body(answer, 201)['lease']['id'])
        self.leases.append(lease)
        return lease

    def hosts_of(self, lease: str) -> set[str]:
        names = self.operator.enrolled()
        answer = self.operator.reservation.get('/os-hosts/allocations')
        return {
            names[held['resource_id']]
            for held in body(answer)['allocations']
            for each in held['reservations']
            if each['lease_id'] == lease
        }


def of_hosts(count: int, name: str | None = None) -> dict[str, Any]:
    return {
        'resource_type': 'physical:host',
        'min': count,
        'max': count,
        'hypervisor_properties': f'["==", "$service_name", "{name}"]'
        if name
        else '',
        'resource_properties': '',
    }


def date(text: str) -> datetime.datetime:
    return datetime.datetime.fromisoformat(text).replace(tzinfo=datetime.UTC)
