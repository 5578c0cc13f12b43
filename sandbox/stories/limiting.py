# SPDX-License-Identifier: Apache-2.0
"""Members reach limits: those of single leases, and keystone's limits of their
projects, both while keystone answers and while it does not."""

import os
import signal
import time
from typing import Any

import requests

from sandbox import ini
from sandbox import person
from sandbox import polls
from sandbox import story
from sandbox.person import body
from sandbox.polls import until
from sandbox.stories import cast
from sandbox.stories import commands
from sandbox.stories import from_outside
from sandbox.stories import planned
from sandbox.story import expect

#: The limits of projects without limits of their own.
DEFAULTS = {
    'leases': 3,
    'waiting': 1,
    'hosts': 2,
    'slots': 4,
    'host_hours': 30,
    f'{from_outside.TYPE}/SEATS': 3,
}

#: The limit on hosts that demo has of its own.
HOSTS_OF_DEMO = 3

TIMEOUT = 2

#: What the operator has in nova.conf beside.
CONF: ini.Sections = {
    'reservations': {
        'limits': 'unified',
        'limits_cache_time': 1,
        'max_lease_duration': 12 * 3600,
        'max_start_ahead': 7 * 24 * 3600,
        'reservation_extension_window': 600,
    },
    'oslo_limit': {'timeout': TIMEOUT},
}


class Limiting(planned.Planned):
    """The chapters, in the order in which they are told."""

    def __init__(self, auth_url: str, timeline: story.Timeline) -> None:
        super().__init__(auth_url, timeline)
        self.services = timeline.services
        self.directory = timeline.directory
        self.auth_url = auth_url
        self.own = ''
        """The id of the limit that demo has of its own."""

    def tell(self) -> None:
        self.check()
        self.register()
        self.meet_terms()
        self.meet_numbers()
        self.meet_seats()
        self.meet_what_waits()
        self.clean_up()
        self.change()
        self.stop_keystone()
        self.clean_up()
        self.limit_no_more()

    def register(self) -> None:
        with self.step('the operator registers limits in keystone') as seen:
            service = self._only('services?type=compute')
            where = {'service_id': service['id'], 'region_id': 'RegionOne'}
            registered = [
                where
                | {
                    'resource_name': f'reservations:{name}',
                    'default_limit': number,
                }
                for name, number in DEFAULTS.items()
            ]
            self._post('registered_limits', registered)
            own = where | {
                'project_id': self._only('projects?name=demo')['id'],
                'resource_name': 'reservations:hosts',
                'resource_limit': HOSTS_OF_DEMO,
            }
            (limit,) = self._post('limits', [own])
            self.own = limit['id']
            seen(', '.join(f'{n} {name}' for name, n in DEFAULTS.items()))
            seen(f'{HOSTS_OF_DEMO} hosts for demo')
        with self.step('each project sees its own') as seen:
            for who, hosts in ((self.demo, HOSTS_OF_DEMO), (self.alt, 2)):
                shown = body(who.reservation.get('/limits'))['limits']
                expect('hosts', hosts, shown['absolute']['maxReservedHosts'])
                seen(f'{who.name}: {hosts}')

    def check(self) -> None:
        """Run the check with the id of the endpoint in [oslo_limit]; nova-api
        finds the endpoint by its type."""
        with self.step('the upgrade check asks keystone, too') as seen:
            endpoints = '/endpoints?interface=public&service_id='
            service = self._only('services?type=compute')['id']
            endpoint = body(self.operator.identity.get(endpoints + service))
            more = self.directory / 'etc/limits.conf'
            more.write_text(
                '[oslo_limit]\n'
                f'endpoint_id = {endpoint["endpoints"][0]["id"]}\n'
            )
            said = commands.upgrade_check(self.directory / 'etc', more)
            if 'Keystone has no registered limit reservations:' not in said:
                raise person.Unexpected('what is not registered', said)
            seen('nothing is registered yet')

    def _only(self, path: str) -> Any:
        (found,) = body(self.operator.identity.get(f'/{path}'))[
            path.partition('?')[0]
        ]
        return found

    def _post(self, name: str, wanted: list[dict[str, Any]]) -> Any:
        answer = self.operator.identity.post(f'/{name}', json={name: wanted})
        return body(answer, 201)[name]

    def meet_terms(self) -> None:
        with self.step('a lease may last 12 hours') as seen:
            seen(cast.refusal(self.ask(self.demo, 0, 13, 1), 400))
        with self.step('and begin within a week') as seen:
            seen(cast.refusal(self.ask(self.demo, 168, 169, 1), 400))
        with self.step('it is prolonged in its last ten minutes') as seen:
            answer = self.demo.ask_lease(
                'short', None, cast.now() + cast.hours(1), 1
            )
            lease = body(answer, 201)['lease']
            self.leases.append(lease['id'])
            self.wait_for(lease['id'], 'ACTIVE')
            later = cast.end_of(lease) + cast.hours(1)
            answer = self.demo.reservation.put(
                f'/leases/{lease["id"]}', json={'end_date': later.isoformat()}
            )
            seen(cast.refusal(answer, 400))

    def meet_numbers(self) -> None:
        """Reach the limits; one lease is left from the chapter before."""
        with self.step('demo has 3 hosts at any instant') as seen:
            seen(cast.refusal(self.ask(self.demo, 1, 2, 4), 400))
            self.lease(self.demo, 1, 2, 3)
            seen(cast.refusal(self.ask(self.demo, 1.5, 3, 1), 400))
        with self.step('30 host hours') as seen:
            seen(cast.refusal(self.ask(self.demo, 2, 14, 3), 400))
        with self.step('4 slots') as seen:
            self._refuse_slots(5, seen)
        with self.step('and 3 leases') as seen:
            self.lease(self.demo, 3, 4, 1)
            seen(cast.refusal(self.ask(self.demo, 5, 6, 1), 400))
            self._delete_last()
        with self.step('alt, of which nothing is said, has 2 hosts') as seen:
            seen(cast.refusal(self.ask(self.alt, 3, 4, 3), 400))

    def _refuse_slots(self, count: int, seen: Any) -> None:
        answer = self.demo.ask_lease_of(
            'slots',
            self.at(3),
            self.at(4),
            {
                'resource_type': 'virtual:instance',
                'vcpus': 1,
                'memory_mb': 256,
                'disk_gb': 1,
                'amount': count,
                'affinity': None,
                'resource_properties': '',
            },
        )
        seen(cast.refusal(answer, 400))

    def _delete_last(self) -> None:
        self.delete_lease(self.leases.pop())

    def meet_seats(self) -> None:
        """Reach the limit on a resource type that is not shipped."""
        name = f'{from_outside.TYPE}/SEATS'
        (self.directory / 'licences').mkdir()
        self._resource('create', 'cad', '--inventory', 'SEATS=9')
        with self.step('3 seats of licences') as seen:
            seen(cast.refusal(self._ask_seats(4), 400))
            lease = body(self._ask_seats(3), 201)['lease']
            self.leases.append(lease['id'])
            (reservation,) = lease['reservations']
            change = [{'id': reservation['id'], 'seats': 4}]
            answer = self.demo.reservation.put(
                f'/leases/{lease["id"]}', json={'reservations': change}
            )
            seen(cast.refusal(answer, 400))
        with self.step('openstack lease limits show') as seen:
            (line,) = (
                each
                for each in commands.shown_by(
                    self.auth_url, 'demo', 'lease', 'limits', 'show'
                )
                if each['Limit'].startswith(name)
            )
            expect('seats', (3, 3), (line['Allowed'], line['Used']))
            seen(f'{line["Limit"]}: {line["Used"]} of {line["Allowed"]}')
            self._delete_last()
        self._resource('delete', 'cad', shows=False)

    def _resource(self, verb: str, *words: str, shows: bool = True) -> None:
        commands.shown_by(
            *(self.auth_url, 'admin', 'lease', 'resource', verb),
            *(from_outside.TYPE, *words),
            shows=shows,
        )

    def _ask_seats(self, count: int) -> requests.Response:
        return self.demo.ask_lease_of(
            'seats',
            self.at(3),
            self.at(4),
            {'resource_type': from_outside.TYPE, 'seats': count},
        )

    def meet_what_waits(self) -> None:
        with self.step('one lease may wait') as seen:
            (host,) = self.hosts_of(self.leases[0])
            self._delete_last()
            waits = body(self._wait(host), 201)['lease']
            self.leases.append(waits['id'])
            expect('status', 'CREATING', waits['status'])
            seen(cast.refusal(self._wait(host), 400))

    def _wait(self, host: str) -> requests.Response:
        return self.demo.reservation.post(
            '/leases',
            json={
                'name': 'patience',
                'lease_type': 'retry',
                'start_date': 'now',
                'duration': '10m',
                'reservations': [planned.of_hosts(1, host)],
            },
        )

    def change(self) -> None:
        with self.step('the operator changes it to 1 in keystone') as seen:
            self._set_own(1)
            began = time.monotonic()
            answer = until(
                'refused',
                lambda: self._rehearse(self.demo, 2),
                lambda answer: answer.status_code == 400,
            )
            seen(cast.refusal(answer, 400))
            seen(f'{time.monotonic() - began:.1f} s later')

    def _set_own(self, number: int) -> None:
        """Change demo's own limit on hosts."""
        answer = self.operator.identity.patch(
            f'/limits/{self.own}', json={'limit': {'resource_limit': number}}
        )
        body(answer)

    def limit_no_more(self) -> None:
        """Remove the limits, for the chapters of other stories."""
        with self.step('demo has as many hosts as there are'):
            self._set_own(-1)
            until(
                'accepted',
                lambda: self._rehearse(self.demo, len(self.hosts)),
                lambda answer: answer.status_code == 201,
            )

    def _rehearse(self, who: person.Person, hosts: int) -> requests.Response:
        return self.ask(who, 1, 2, hosts, '?dry_run=true')

    def stop_keystone(self) -> None:
        """Stop keystone. Nova has cached the tokens of persons whom it has
        seen before."""
        body(self.operator.reservation.get('/leases'))
        time.sleep(CONF['reservations']['limits_cache_time'])  # type: ignore[arg-type]
        keystone = self.services.process('keystone')
        with self.step('keystone hangs: what it has said last holds') as seen:
            os.killpg(keystone.pid, signal.SIGSTOP)
            seen(cast.refusal(self._rehearse(self.demo, 2), 400))
            self.lease(self.demo, 1, 2, 1)
        with self.step('of other projects it has said nothing') as seen:
            self._refuse_the_unknown(seen)
        self.services.kill('keystone')
        with self.step('keystone is killed: it is the same') as seen:
            seen(cast.refusal(self._rehearse(self.demo, 2), 400))
            self._refuse_the_unknown(seen)
        with self.step('keystone is back, and says all') as seen:
            self.services.restart('keystone')
            self.services.wait_for_answer('keystone')
            until(
                'accepted',
                lambda: self._rehearse(self.operator, 2),
                lambda answer: answer.status_code == 201,
            )
            answer = self._rehearse(self.operator, 3)
            seen(cast.refusal(answer, 400))

    def _refuse_the_unknown(self, seen: Any) -> None:
        """Check that a project without known limits is refused at once: nobody
        waits again for a keystone that has hung once."""
        began = time.monotonic()
        seen(cast.refusal(self._rehearse(self.operator, 1), 503))
        took = time.monotonic() - began
        if took > TIMEOUT * polls.slowness() / 2:
            raise person.Unexpected('at once', took)
        seen(f'after {took:.1f} s')
