# SPDX-License-Identifier: Apache-2.0
"""Networks on VLANs are leased, with hosts, on a real Neutron."""

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

_PHYSICAL = 'physnet1'

#: VLANs outside of the range that Neutron gives to networks by itself.
_VLANS = (1001, 1002, 1003)


def tell(auth_url: str, timeline: story.Timeline) -> None:
    """Lease networks on VLANs with hosts: from enrolment to clean-up."""
    told = _Networks(auth_url, timeline)
    told.enrol()
    lease = told.lease_both()
    told.use(lease)
    told.refuse_what_is_taken()
    told.end(lease)
    told.fail_as_a_whole()
    told.repair()
    told.lose_one()
    told.wait_for_neutron()
    told.remove()


class _Networks(neutron.Cast):
    """The chapters, in the order in which they are told.

    :ivar known: VLAN -> its id, of VLANs that can be leased.
    :ivar waited_for: objects that keep demo's network from being deleted: the
        path of each, and how it is removed.
    """

    resource_type = 'network'

    def __init__(self, auth_url: str, timeline: story.Timeline) -> None:
        super().__init__(auth_url, timeline)
        self.etc = timeline.directory / 'etc'
        self.known: dict[int, str] = {}
        self.router = self.subnet = self.port = ''

    def enrol(self) -> None:
        with self.step('an operator adds VLANs of a physical network'):
            for vlan in _VLANS:
                made = body(self._enrol(vlan, rack='r1'), 201)['network']
                expect('VLAN', vlan, made['segment_id'])
                self.known[vlan] = made['id']
            listed = body(self.operator.reservation.get('/networks'))
            expect(
                'VLANs',
                [*_VLANS],
                sorted(each['segment_id'] for each in listed['networks']),
            )
        with self.step('one that Neutron gives to anybody is refused') as seen:
            seen(cast.refusal(self._enrol(150), 400))
        with self.step('so is one twice, and one that a network has') as seen:
            seen(cast.refusal(self._enrol(_VLANS[0]), 409))
            taken = body(self._take(1009), 201)['network']['id']
            seen(cast.refusal(self._enrol(1009), 409))
            body(self.operator.network.delete(f'/v2.0/networks/{taken}'), 204)
        with self.step('members do not see which VLANs there are') as seen:
            seen(cast.refusal(self.demo.reservation.get('/networks'), 403))
        self.enrol_all_of([self.host])

    def lease_both(self) -> str:
        with self.step('demo leases a host and a network') as seen:
            lease = self._lease(_VLANS[1])
            seen(self.wait_for(lease, 'ACTIVE'))
        with self.step('it is in Neutron, with its name and the tags') as seen:
            network = self._given(lease)
            expect('project', self.project, network['project_id'])
            expect('name', 'lab', network['name'])
            expect('description', 'of the lab', network['description'])
            if 'blazar' not in network['tags']:
                raise person.Unexpected('the tag blazar', network['tags'])
            expect('VLAN', [_VLANS[1]], self._vlans(lease))
            seen(network['id'])
        with self.step('the lease shows it'):
            (shown,) = self.part(lease)['networks']
            expect('network', network['id'], shown['id'])
            expect('VLAN', _VLANS[1], shown['segment_id'])
        return lease

    def use(self, lease: str) -> None:
        network = self._given(lease)['id']
        with self.step('demo makes a subnet, a router and a port') as seen:
            self.subnet = self.create(
                self.demo,
                'subnet',
                network_id=network,
                ip_version=4,
                cidr='10.0.0.0/24',
            )
            self.router = self.create(self.demo, 'router', name='inner')
            self._route('add', 200)
            self.port = self.create(self.demo, 'port', network_id=network)
            seen(self.port)
        with self.step('a server of the lease is in the network') as seen:
            server = cast.accepted(
                self.demo.boot(
                    'inside',
                    self.part(lease, 'physical:host')['id'],
                    networks=[{'uuid': network}],
                )
            )
            seen(self.expect_on(server, [self.host]))
            url = f'/v2.0/ports?device_id={server}'
            ports = body(self.demo.network.get(url))['ports']
            expect(
                'networks', [network], [each['network_id'] for each in ports]
            )
        with self.step('demo gives the network another name, and no tags'):
            path = f'/v2.0/networks/{network}'
            renamed = {'network': {'name': 'mine'}}
            body(self.demo.network.put(path, json=renamed))
            body(self.demo.network.delete(f'{path}/tags'), 204)

    def refuse_what_is_taken(self) -> None:
        with self.step('no other lease gets the VLAN meanwhile') as seen:
            seen(cast.refusal(self._ask(self.alt, _VLANS[1]), 400))
        with self.step('nor does Neutron give it to a project') as seen:
            seen(cast.refusal(self._take(_VLANS[1], self.alt), 403))
        with self.step('a VLAN that is leased can not be removed') as seen:
            key = self.known[_VLANS[1]]
            removed = self.operator.reservation.delete(f'/networks/{key}')
            seen(cast.refusal(removed, 409))

    def end(self, lease: str) -> None:
        (network,) = (each['id'] for each in self.part(lease)['networks'])
        with self.step('the end waits for what is not of the lease') as seen:
            self.end_now(lease)
            reason = until(
                'the router and the port',
                lambda: str(self.demo.lease(lease)['status_reason']),
                lambda told: self.router in told and self.port in told,
                60,
            )
            seen(reason)
        with self.step("the server's port has gone with it") as seen:
            url = f'/v2.0/ports?network_id={network}'
            owners = until(
                'two ports',
                lambda: [
                    each['device_owner']
                    for each in body(self.demo.network.get(url))['ports']
                ],
                lambda there: len(there) == 2,
                60,
            )
            seen(', '.join(sorted(owners)))
        with self.step('without them it is deleted, with its subnet') as seen:
            self._route('remove', 200)
            body(self.demo.network.delete(f'/v2.0/ports/{self.port}'), 204)
            seen(self.wait_for(lease, 'TERMINATED', 90))
            for path in f'networks/{network}', f'subnets/{self.subnet}':
                body(self.operator.network.get(f'/v2.0/{path}'), 404)

    def fail_as_a_whole(self) -> None:
        with self.step(
            'a start that Neutron refuses is undone as a whole'
        ) as seen:
            self.set_quota(network=0)
            lease = self._lease()
            self.wait_for(lease, 'ERROR')
            seen(str(self.demo.lease(lease)['status_reason']))
            until(
                'no aggregate',
                self.operator.aggregates,
                lambda there: (
                    self.part(lease, 'physical:host')['id'] not in there
                ),
            )
            self.set_quota(network=100)
            self.delete_lease(lease)

    def repair(self) -> None:
        with self.step('an audit finds a network that was deleted') as seen:
            lease = self._lease(_VLANS[0])
            self.wait_for(lease, 'ACTIVE')
            path = f'/v2.0/networks/{self._given(lease)["id"]}'
            body(self.demo.network.delete(path), 204)
            found = commands.audit(self.etc)
            if 'is not in Neutron, or without its tags' not in found:
                raise person.Unexpected('a finding', found)
            seen(found)
        with self.step('nova-reservations-manage audit --repair'):
            commands.audit(self.etc, '--repair')
            until(
                'a network',
                lambda: self._vlans(lease),
                lambda there: there == [_VLANS[0]],
                60,
            )
            self.delete_lease(lease)

    def lose_one(self) -> None:
        with self.step('an administrator takes the VLAN of a lease') as seen:
            lease = self._lease()
            self.wait_for(lease, 'ACTIVE')
            (vlan,) = self._vlans(lease)
            path = f'/v2.0/networks/{self._given(lease)["id"]}'
            body(self.operator.network.delete(path), 204)
            taken = body(self._take(vlan), 201)['network']['id']
            (another,) = until(
                'another one',
                lambda: self._vlans(lease),
                lambda there: len(there) == 1,
                60,
            )
            expect('marked', True, self.part(lease)['resources_changed'])
            seen(f'{another} in place of {vlan}')
        with self.step('what the administrator made is left alone'):
            body(self.demo.reservation.delete(f'/leases/{lease}'), 204)
            path = f'/v2.0/networks/{taken}'
            body(self.operator.network.get(path))
            body(self.operator.network.delete(path), 204)
            self.wait_until_gone(lease, 90)

    def wait_for_neutron(self) -> None:
        with self.step('while Neutron is gone a start waits') as seen:
            lease = self._lease(later=True)
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
        with self.step('it is there again') as seen:
            self.services.restart('network')
            seen(self.wait_for(lease, 'ACTIVE', 60))
            expect('number', 1, len(self._vlans(lease)))
            self.delete_lease(lease)

    def remove(self) -> None:
        with self.step('an audit finds nothing to mend'):
            found = commands.audit(self.etc)
            if 'VLAN' in found:
                raise person.Unexpected('no VLAN', found)
        with self.step('the operator removes the VLANs'):
            for key in self.known.values():
                removed = self.operator.reservation.delete(f'/networks/{key}')
                body(removed, 204)

    def _enrol(self, vlan: int, **more: str) -> requests.Response:
        return self.operator.reservation.post(
            '/networks',
            json={
                'network_type': 'vlan',
                'physical_network': _PHYSICAL,
                'segment_id': vlan,
                **more,
            },
        )

    def _take(
        self, vlan: int, who: person.Person | None = None
    ) -> requests.Response:
        return (who or self.operator).network.post(
            '/v2.0/networks',
            json={
                'network': {
                    'name': 'taken',
                    'provider:network_type': 'vlan',
                    'provider:physical_network': _PHYSICAL,
                    'provider:segmentation_id': vlan,
                }
            },
        )

    def _ask(
        self,
        who: person.Person,
        vlan: int | None = None,
        later: bool = False,
    ) -> requests.Response:
        """Ask for a host and a network, from now on or in an hour."""
        start = cast.now() + cast.hours(1) if later else None
        wanted = '["==", "$rack", "r1"]'
        if vlan:
            wanted = f'["==", "$segment_id", "{vlan}"]'
        return who.reservation.post(
            '/leases',
            json={
                'name': 'both',
                'start_date': start.isoformat() if start else 'now',
                'end_date': (cast.now() + cast.hours(2)).isoformat(),
                'reservations': [
                    {'resource_type': 'physical:host', 'min': 1, 'max': 1},
                    {
                        'resource_type': 'network',
                        'network_name': 'lab',
                        'network_description': 'of the lab',
                        'network_properties': wanted,
                        'resource_properties': '',
                    },
                ],
            },
        )

    def _lease(self, vlan: int | None = None, later: bool = False) -> str:
        answer = self._ask(self.demo, vlan, later)
        return str(body(answer, 201)['lease']['id'])

    def _given(self, lease: str) -> Any:
        """Return the network of a lease, as demo sees it."""
        (network,) = self.tagged('networks', self.part(lease)['id'])
        return network

    def _vlans(self, lease: str) -> list[int]:
        """Return the VLANs on which a lease has networks with its tags."""
        url = f'/v2.0/networks?tags=reservation:{self.part(lease)["id"]}'
        found = body(self.operator.network.get(url))['networks']
        return [each['provider:segmentation_id'] for each in found]

    def _route(self, how: str, status: int) -> None:
        body(
            self.demo.network.put(
                f'/v2.0/routers/{self.router}/{how}_router_interface',
                json={'subnet_id': self.subnet},
            ),
            status,
        )
