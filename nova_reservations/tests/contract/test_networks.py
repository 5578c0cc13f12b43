# SPDX-License-Identifier: Apache-2.0
"""Networks and floating IPs: the fake behaves as a real Neutron does."""

from typing import Any
import uuid

import pytest
import requests

from nova_reservations import exception
from nova_reservations import ports
from nova_reservations.testing import fake_cloud
from nova_reservations.tests.contract import worlds
from nova_reservations.types.neutron import fake_networks
from nova_reservations.types.neutron import networks_client as networks

MINE = 'b0b0b0b0000040008000000000000001'
OTHERS = 'b0b0b0b0000040008000000000000002'
FREE, OTHER = '203.0.113.101', '203.0.113.102'
POOL = (('203.0.113.2', '203.0.113.99'),)
MARK = ports.Mark(worlds.RESERVATION, worlds.DATABASE)


class FakeWorld:
    def __init__(self) -> None:
        self._cloud = fake_cloud.FakeCloud()
        self.networks = self._cloud.networks
        external = fake_networks.external()
        self.external = external.id
        self._cloud.networks_known[external.id] = external

    def make_own(self, project_id: str) -> str:
        own = fake_networks.external(id='own', external=False, subnets=())
        self._cloud.networks_known[own.id] = own
        self._cloud.network_projects[own.id] = {project_id}
        return own.id

    def make_port(self, address: str) -> str:
        self._cloud.network_ports[self.external, address] = 'a port'
        return 'a port'

    def take(self, address: str, project_id: str) -> None:
        made = ports.FloatingIP(
            id=address,
            address=address,
            network_id=self.external,
            project_id=project_id,
        )
        self._cloud.floating_ips[made.id] = made


class NeutronWorld:
    def __init__(self, url: str) -> None:
        self._url = f'{url}/v2.0'
        self.networks = networks.Networks()
        self.external = self._make(
            'network',
            {
                'name': 'public',
                'project_id': OTHERS,
                'router:external': True,
                'provider:network_type': 'flat',
                'provider:physical_network': f'n{uuid.uuid4().hex[:8]}',
            },
        )['id']
        self._make(
            'subnet',
            {
                'network_id': self.external,
                'project_id': OTHERS,
                'ip_version': 4,
                'cidr': '203.0.113.0/24',
                'enable_dhcp': False,
                'allocation_pools': [
                    {'start': first, 'end': last} for first, last in POOL
                ],
            },
        )

    def make_own(self, project_id: str) -> str:
        made = self._make('network', {'name': 'own', 'project_id': project_id})
        return str(made['id'])

    def make_port(self, address: str) -> str:
        made = self._make(
            'port',
            {
                'network_id': self.external,
                'project_id': OTHERS,
                'fixed_ips': [{'ip_address': address}],
            },
        )
        return str(made['id'])

    def take(self, address: str, project_id: str) -> None:
        self._make(
            'floatingip',
            {
                'floating_network_id': self.external,
                'floating_ip_address': address,
                'project_id': project_id,
            },
        )

    def _make(self, noun: str, fields: Any) -> Any:
        answer = requests.post(
            f'{self._url}/{noun}s', json={noun: fields}, timeout=60
        )
        assert answer.status_code == 201, answer.text
        return answer.json()[noun]


@pytest.fixture(
    params=['fake', pytest.param('neutron', marks=pytest.mark.functional)]
)
def world(request: pytest.FixtureRequest) -> FakeWorld | NeutronWorld:
    """The fake and Neutron in turn, with a new external network."""
    if request.param == 'fake':
        return FakeWorld()
    return NeutronWorld(request.getfixturevalue('asked_neutron'))


def create(world, address=FREE, project_id=MINE, check=worlds.go_on):
    world.networks.create_floating_ip(
        world.external, address, project_id, MARK, check
    )


def find(world, *addresses):
    return world.networks.find_floating_ips(world.external, addresses)


def test_a_network_is_shown_with_its_subnets(world):
    network = world.networks.find_network(world.external)
    assert (network.id, network.external) == (world.external, True)
    [subnet] = network.subnets
    assert subnet.cidr == '203.0.113.0/24'
    assert subnet.gateway == '203.0.113.1'
    assert subnet.pools == POOL
    assert subnet.has(FREE)
    assert not subnet.gives(FREE)
    assert world.networks.find_network(str(uuid.uuid4())) is None


def test_an_administrator_acts_for_all_projects(world):
    assert world.networks.acts_everywhere()


def test_projects_see_external_networks_and_their_own(world):
    own = world.make_own(MINE)
    for project_id in MINE, OTHERS:
        assert world.networks.find_network(world.external, project_id)
    seen = world.networks.find_network(own, MINE)
    assert not seen.external
    assert world.networks.find_network(own, OTHERS) is None
    assert world.networks.find_network(own)


def test_a_floating_ip_is_the_projects_and_bears_the_name(world):
    create(world)
    [made] = find(world, FREE, OTHER).values()
    assert (made.address, made.project_id) == (FREE, MINE)
    assert made.is_tagged
    assert made.reservation_id == MARK.reservation_id
    assert made.database == MARK.database
    assert made.id in {each.id for each in world.networks.find_marked()}
    assert find(world, OTHER) == {}


def test_an_address_is_given_once(world):
    create(world)
    with pytest.raises(exception.CloudRefused, match=FREE):
        create(world, project_id=OTHERS)
    port = world.make_port(OTHER)
    with pytest.raises(exception.CloudRefused, match=OTHER):
        create(world, OTHER)
    # The port that belongs to the floating IP itself does not count.
    found = world.networks.find_ports(world.external, [FREE, OTHER])
    assert found == {OTHER: port}


def test_an_address_that_others_made_bears_no_name_until_it_gets_one(world):
    world.take(FREE, OTHERS)
    [taken] = find(world, FREE).values()
    assert (taken.project_id, taken.is_tagged) == (OTHERS, False)
    assert taken.reservation_id is None
    assert taken.id not in {each.id for each in world.networks.find_marked()}
    world.networks.tag(taken, MARK, worlds.go_on)
    [tagged] = find(world, FREE).values()
    assert (tagged.id, tagged.is_tagged) == (taken.id, True)
    assert tagged.reservation_id == MARK.reservation_id


def test_a_floating_ip_is_deleted_once_or_twice(world):
    create(world)
    [made] = find(world, FREE).values()
    for _ in range(2):
        world.networks.delete_floating_ip(made, worlds.go_on)
        assert find(world, FREE) == {}
    create(world, project_id=OTHERS)


def test_a_worker_that_has_lost_the_claim_changes_no_address(world):
    with pytest.raises(exception.ClaimLost):
        create(world, check=worlds.lost)
    assert find(world, FREE) == {}
    create(world)
    [made] = find(world, FREE).values()
    for change in (
        lambda: world.networks.delete_floating_ip(made, worlds.lost),
        lambda: world.networks.tag(made, MARK, worlds.lost),
    ):
        with pytest.raises(exception.ClaimLost):
            change()
    assert find(world, FREE) == {FREE: made}
