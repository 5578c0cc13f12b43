# SPDX-License-Identifier: Apache-2.0
"""Stories on a real Neutron: what they have in common."""

from typing import Any

from sandbox import person
from sandbox import story
from sandbox.person import body
from sandbox.stories import cast


class Cast(cast.Cast):
    """Leases of hosts together with a resource in Neutron.

    :cvar resource_type: the type of that resource.
    :ivar project: the id of demo's project.
    """

    resource_type: str

    def __init__(self, auth_url: str, timeline: story.Timeline) -> None:
        super().__init__(auth_url, timeline)
        self.services = timeline.services
        self.host = self.operator.hosts()[0]
        found = body(self.operator.identity.get('/projects?name=demo'))
        self.project = str(found['projects'][0]['id'])

    def create(self, who: person.Person, noun: str, **fields: object) -> str:
        answer = who.network.post(f'/v2.0/{noun}s', json={noun: fields})
        return str(body(answer, 201)[noun]['id'])

    def external_network(self) -> str:
        """Return the id of the external network; an earlier story may have
        created it. It is 203.0.113.0/24, with the allocation pool .10 to .99.
        """
        found = body(self.operator.network.get('/v2.0/networks?name=public'))
        if found['networks']:
            return str(found['networks'][0]['id'])
        network = self.create(
            self.operator,
            'network',
            name='public',
            **{
                'router:external': True,
                'provider:network_type': 'flat',
                'provider:physical_network': 'public',
            },
        )
        self.create(
            self.operator,
            'subnet',
            network_id=network,
            ip_version=4,
            cidr='203.0.113.0/24',
            enable_dhcp=False,
            allocation_pools=[
                {'start': '203.0.113.10', 'end': '203.0.113.99'}
            ],
        )
        return network

    def part(self, lease: str, resource_type: str | None = None) -> Any:
        """Return the reservation of a type, by default of the story's."""
        (found,) = (
            each
            for each in self.operator.lease(lease)['reservations']
            if each['resource_type'] == (resource_type or self.resource_type)
        )
        return found

    def tagged(self, collection: str, reservation: str) -> list[Any]:
        """Return the objects with a reservation's tag, as demo sees them."""
        url = f'/v2.0/{collection}?tags=reservation:{reservation}'
        return list(body(self.demo.network.get(url))[collection])

    def set_quota(self, **most: int) -> None:
        body(
            self.operator.network.put(
                f'/v2.0/quotas/{self.project}', json={'quota': most}
            )
        )

    def end_now(self, lease: str) -> None:
        body(
            self.demo.reservation.put(
                f'/leases/{lease}', json={'end_date': 'now'}
            )
        )
