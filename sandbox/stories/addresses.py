# SPDX-License-Identifier: Apache-2.0
"""Floating IPs are leased, with hosts, on a real Neutron."""

from typing import Any

import requests

from sandbox import person
from sandbox import story
from sandbox.person import body
from sandbox.polls import until
from sandbox.stories import cast
from sandbox.stories import commands
from sandbox.stories import neutron
from sandbox.story import expect

#: Addresses outside of the allocation pool.
_ADDRESSES = ('203.0.113.101', '203.0.113.102', '203.0.113.103')


def tell(auth_url: str, timeline: story.Timeline) -> None:
    """Lease floating IPs with hosts: from enrolment to clean-up."""
    told = _Addresses(auth_url, timeline)
    told.enrol()
    lease = told.lease_both()
    told.use(lease)
    told.refuse_what_is_taken()
    told.end(lease)
    told.fail_as_a_whole()
    told.lose_one()
    told.wait_for_neutron()
    told.remove()


class _Addresses(neutron.Cast):
    """The chapters, in the order in which they are told.

    :ivar network: the external network's id.
    :ivar known: address -> its id, of addresses that can be leased.
    """

    resource_type = 'virtual:floatingip'

    def __init__(self, auth_url: str, timeline: story.Timeline) -> None:
        super().__init__(auth_url, timeline)
        self.auth_url = auth_url
        self.network = ''
        self.known: dict[str, str] = {}

    def enrol(self) -> None:
        with self.step('there is an external network') as seen:
            self.network = self.external_network()
            seen(self.network)
        with self.step('openstack reservation floatingip create'):
            first, *others = _ADDRESSES
            made = self._command('admin', 'create', self.network, first)
            expect('address', first, made['floating_ip_address'])
            self.known[first] = made['id']
            for address in others:
                made = body(self._enrol(address), 201)['floatingip']
                self.known[address] = made['id']
        with self.step('one that Neutron gives to anybody is refused') as seen:
            seen(cast.refusal(self._enrol('203.0.113.50'), 400))
        with self.step('so is one twice, and one in no subnet') as seen:
            seen(cast.refusal(self._enrol(_ADDRESSES[0]), 409))
            seen(cast.refusal(self._enrol('198.51.100.7'), 404))
        with self.step('members list and show them'):
            listed = self._command('demo', 'list')
            expect(
                'addresses',
                [*_ADDRESSES],
                sorted(each['floating_ip_address'] for each in listed),
            )
            shown = self._command('demo', 'show', self.known[_ADDRESSES[0]])
            expect('network', self.network, shown['floating_network_id'])
        self.enrol_all_of([self.host])

    def lease_both(self) -> str:
        with self.step('demo leases a host and two addresses') as seen:
            lease = self._lease(2, _ADDRESSES[1])
            seen(self.wait_for(lease, 'ACTIVE'))
        with self.step('they are in Neutron, with the tags') as seen:
            given = self._given(lease)
            expect('number', 2, len(given))
            if _ADDRESSES[1] not in given:
                raise person.Unexpected(_ADDRESSES[1], given)
            for each in given.values():
                expect('project', self.project, each['project_id'])
                if 'blazar' not in each['tags']:
                    raise person.Unexpected('the tag blazar', each['tags'])
            seen(', '.join(sorted(given)))
        with self.step('the lease shows them') as seen:
            shown = self.part(lease)
            expect('addresses', sorted(given), shown['floatingips'])
        with self.step('and has its host'):
            reservation = self.part(lease, 'physical:host')['id']
            aggregate = self.operator.aggregates()[reservation]
            expect('hosts', [self.host], aggregate['hosts'])
        return lease

    def use(self, lease: str) -> None:
        with self.step('demo has one of them lead to a port') as seen:
            inner = self.create(self.demo, 'network', name='inner')
            subnet = self.create(
                self.demo,
                'subnet',
                network_id=inner,
                ip_version=4,
                cidr='10.0.0.0/24',
            )
            router = self.create(
                self.demo,
                'router',
                external_gateway_info={'network_id': self.network},
            )
            body(
                self.demo.network.put(
                    f'/v2.0/routers/{router}/add_router_interface',
                    json={'subnet_id': subnet},
                )
            )
            port = self.create(self.demo, 'port', network_id=inner)
            address, floating_ip = sorted(self._given(lease).items())[0]
            body(
                self.demo.network.put(
                    f'/v2.0/floatingips/{floating_ip["id"]}',
                    json={'floatingip': {'port_id': port}},
                )
            )
            seen(address)

    def refuse_what_is_taken(self) -> None:
        with self.step('no other lease gets them meanwhile') as seen:
            seen(cast.refusal(self._ask(self.alt, 2), 400))
        with self.step('nor does Neutron give them to a project') as seen:
            seen(cast.refusal(self._take(self.alt, _ADDRESSES[1]), 403))
        with self.step('an address that is leased can not be removed') as seen:
            key = self.known[_ADDRESSES[1]]
            removed = self.operator.reservation.delete(f'/floatingips/{key}')
            seen(cast.refusal(removed, 409))

    def end(self, lease: str) -> None:
        with self.step('at its end they are gone') as seen:
            self.end_now(lease)
            seen(self.wait_for(lease, 'TERMINATED'))
            expect('floating IPs', {}, self._given(lease))

    def fail_as_a_whole(self) -> None:
        with self.step(
            'a start that Neutron refuses is undone as a whole'
        ) as seen:
            self.set_quota(floatingip=0)
            lease = self._lease(1)
            self.wait_for(lease, 'ERROR')
            seen(str(self.demo.lease(lease)['status_reason']))
            until(
                'no aggregate',
                self.operator.aggregates,
                lambda there: (
                    self.part(lease, 'physical:host')['id'] not in there
                ),
            )
            expect('floating IPs', {}, self._given(lease))
            self.set_quota(floatingip=10)
            self.delete_lease(lease)

    def lose_one(self) -> None:
        with self.step('an administrator takes an address of a lease') as seen:
            lease = self._lease(1)
            self.wait_for(lease, 'ACTIVE')
            ((lost, given),) = self._given(lease).items()
            path = '/v2.0/floatingips/'
            body(self.operator.network.delete(path + given['id']), 204)
            taken = body(self._take(self.operator, lost), 201)
            (address,) = until(
                'another one',
                lambda: [*self._given(lease)],
                lambda there: len(there) == 1,
                60,
            )
            changed = self.part(lease)
            expect('marked', True, changed['resources_changed'])
            seen(f'it gets {address}, and is marked')
        with self.step('what the administrator made is left alone'):
            body(self.demo.reservation.delete(f'/leases/{lease}'), 204)
            until(
                'nothing of the lease',
                lambda: self._marked(changed['id']),
                lambda there: not there,
            )
            path += taken['floatingip']['id']
            body(self.operator.network.get(path))
            body(self.operator.network.delete(path), 204)
            self.wait_until_gone(lease, 90)

    def wait_for_neutron(self) -> None:
        with self.step('while Neutron is gone a start waits') as seen:
            lease = self._lease(1, later=True)
            self.services.kill('network')
            body(
                self.demo.reservation.put(
                    f'/leases/{lease}', json={'start_date': 'now'}
                )
            )
            reason = until(
                'a reason',
                lambda: self.demo.lease(lease)['status_reason'],
                bool,
            )
            seen(reason)
        with self.step('another is refused for now') as seen:
            seen(cast.refusal(self._ask(self.alt, 1), 503))
        with self.step('one of hosts alone is not'):
            start = cast.now() + cast.hours(24)
            answer = self.alt.ask_lease(
                'hosts alone', start, start + cast.hours(1), 1
            )
            self.delete_lease(body(answer, 201)['lease']['id'])
        with self.step('it is there again') as seen:
            self.services.restart('network')
            seen(self.wait_for(lease, 'ACTIVE', 60))
            expect('number', 1, len(self._given(lease)))
            self.delete_lease(lease)

    def remove(self) -> None:
        with self.step('openstack reservation floatingip delete'):
            first, *others = self.known.values()
            self._command('admin', 'delete', first, shows=False)
            for key in others:
                removed = self.operator.reservation.delete(
                    f'/floatingips/{key}'
                )
                body(removed, 204)
            left = body(self.demo.reservation.get('/floatingips'))
            expect('left', [], left['floatingips'])

    def _command(self, who: str, *words: str, shows: bool = True) -> Any:
        return commands.shown_by(
            *(self.auth_url, who, 'reservation', 'floatingip'),
            *words,
            shows=shows,
        )

    def _enrol(self, address: str) -> requests.Response:
        return self.operator.reservation.post(
            '/floatingips',
            json={
                'floating_network_id': self.network,
                'floating_ip_address': address,
            },
        )

    def _take(self, who: person.Person, address: str) -> requests.Response:
        return who.network.post(
            '/v2.0/floatingips',
            json={
                'floatingip': {
                    'floating_network_id': self.network,
                    'floating_ip_address': address,
                }
            },
        )

    def _ask(
        self,
        who: person.Person,
        amount: int,
        *required: str,
        later: bool = False,
    ) -> requests.Response:
        """Ask for a host and addresses, from now on or in an hour."""
        start = cast.now() + cast.hours(1) if later else None
        return who.reservation.post(
            '/leases',
            json={
                'name': 'both',
                'start_date': start.isoformat() if start else 'now',
                'end_date': (cast.now() + cast.hours(2)).isoformat(),
                'reservations': [
                    {'resource_type': 'physical:host', 'min': 1, 'max': 1},
                    {
                        'resource_type': 'virtual:floatingip',
                        'network_id': self.network,
                        'amount': amount,
                        'required_floatingips': [*required],
                    },
                ],
            },
        )

    def _lease(self, amount: int, *required: str, later: bool = False) -> str:
        answer = self._ask(self.demo, amount, *required, later=later)
        return str(body(answer, 201)['lease']['id'])

    def _given(self, lease: str) -> dict[str, Any]:
        """Return address -> floating IP of a lease, as demo sees them."""
        return self._marked(self.part(lease)['id'])

    def _marked(self, reservation: str) -> dict[str, Any]:
        return {
            each['floating_ip_address']: each
            for each in self.tagged('floatingips', reservation)
        }
