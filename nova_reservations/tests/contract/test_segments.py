# SPDX-License-Identifier: Apache-2.0
"""Networks on segments: the fake behaves as a real Neutron does."""

import dataclasses
import itertools
from typing import Any

import pytest
import requests

from nova_reservations import exception
from nova_reservations import ports
from nova_reservations.objects import segment
from nova_reservations.testing import fake_cloud
from nova_reservations.tests.contract import test_networks
from nova_reservations.tests.contract import worlds
from nova_reservations.types.neutron import segments_client as segments

MINE, OTHERS = test_networks.MINE, test_networks.OTHERS
MARK = test_networks.MARK
PHYSICAL = 'physnet1'
GIVEN = range(100, 200)

_VLANS = itertools.count(1001)


class FakeWorld:
    def __init__(self) -> None:
        self._cloud = fake_cloud.FakeCloud()
        self._cloud.vlan_ranges = {PHYSICAL: [GIVEN]}
        self.segments = self._cloud.segments

    def plug(
        self, network: ports.SegmentNetwork, owner: str, device: str
    ) -> str:
        key = f'{owner} {device}'
        if owner != 'network:dhcp':
            self._cloud.project_ports[network.id][key] = ports.NetworkPort(
                key, OTHERS, owner, device
            )
        return key

    def add_subnet(self, network: ports.SegmentNetwork) -> None:
        """Do nothing: the fake has no subnets."""

    def take(self, where: segment.Segment, project_id: str) -> None:
        made = ports.SegmentNetwork(
            id=where.name, project_id=project_id, segment=where, name=''
        )
        self._cloud.segment_networks[made.id] = made


class NeutronWorld:
    def __init__(self, url: str) -> None:
        self._url = f'{url}/v2.0'
        self.segments = segments.Segments()

    def plug(
        self, network: ports.SegmentNetwork, owner: str, device: str
    ) -> str:
        made = self._make(
            'port',
            {
                'network_id': network.id,
                'project_id': OTHERS,
                'device_owner': owner,
                'device_id': device,
            },
        )
        return str(made['id'])

    def add_subnet(self, network: ports.SegmentNetwork) -> None:
        self._make(
            'subnet',
            {
                'network_id': network.id,
                'project_id': MINE,
                'ip_version': 4,
                'cidr': '10.0.0.0/24',
            },
        )
        self._make(
            'rbac_policie',
            {
                'object_type': 'network',
                'object_id': network.id,
                'action': 'access_as_shared',
                'target_tenant': OTHERS,
            },
        )

    def take(self, where: segment.Segment, project_id: str) -> None:
        self._make(
            'network',
            {
                'name': 'taken',
                'project_id': project_id,
                'provider:network_type': 'vlan',
                'provider:physical_network': where.physical_network,
                'provider:segmentation_id': where.vlan,
            },
        )

    def _make(self, noun: str, fields: Any) -> Any:
        collection = f'{noun}s'.replace('_', '-')
        key = {'rbac_policie': 'rbac_policy'}.get(noun, noun)
        answer = requests.post(
            f'{self._url}/{collection}', json={key: fields}, timeout=60
        )
        assert answer.status_code == 201, answer.text
        return answer.json()[key]


@pytest.fixture(
    params=['fake', pytest.param('neutron', marks=pytest.mark.functional)]
)
def world(request: pytest.FixtureRequest) -> FakeWorld | NeutronWorld:
    if request.param == 'fake':
        return FakeWorld()
    return NeutronWorld(request.getfixturevalue('asked_neutron'))


@pytest.fixture
def where() -> segment.Segment:
    """A VLAN that no test has used."""
    return segment.Segment(PHYSICAL, next(_VLANS))


def create(world, where, project_id=MINE, check=worlds.go_on):
    world.segments.create_network(
        where, 'lab', 'of the lab', project_id, MARK, check
    )
    return find(world, where)


def find(world, where):
    found = world.segments.find_networks(
        where.physical_network, [where.vlan, 4094]
    )
    assert found.keys() <= {where.vlan}
    return found.get(where.vlan)


def test_a_network_is_the_projects_and_bears_the_name(world, where):
    made = create(world, where)
    assert (made.project_id, made.name) == (MINE, 'lab')
    assert (made.segment, made.is_tagged) == (where, True)
    assert made.reservation_id == MARK.reservation_id
    assert made.database == MARK.database
    assert made.id in {each.id for each in world.segments.find_marked()}
    elsewhere = dataclasses.replace(where, physical_network='physnet2')
    assert find(world, elsewhere) is None


def test_a_vlan_is_given_once_and_others_bear_no_name(world, where):
    world.take(where, OTHERS)
    with pytest.raises(exception.CloudRefused, match=f'VLAN {where.vlan}'):
        create(world, where)
    taken = find(world, where)
    assert (taken.project_id, taken.is_tagged) == (OTHERS, False)
    assert taken.reservation_id is None
    assert taken.id not in {each.id for each in world.segments.find_marked()}
    world.segments.tag(taken, MARK, worlds.go_on)
    assert find(world, where).reservation_id == MARK.reservation_id


def test_ports_keep_a_network_and_neutrons_own_go_with_it(world, where):
    made = create(world, where)
    world.add_subnet(made)
    server = world.plug(made, 'compute:nova', 'server')
    plain = world.plug(made, '', '')
    world.plug(made, 'network:dhcp', 'dhcp')
    found = {each.id: each for each in world.segments.find_ports(made)}
    assert found.keys() == {server, plain}
    assert found[server].is_of_server
    assert found[server].device_id == 'server'
    assert not found[plain].is_of_server
    with pytest.raises(exception.CloudRefused, match=made.id):
        world.segments.delete_network(made, worlds.go_on)
    for port in found.values():
        for _ in range(2):
            world.segments.delete_port(port, worlds.go_on)
    assert world.segments.find_ports(made) == []
    for _ in range(2):
        world.segments.delete_network(made, worlds.go_on)
        assert find(world, where) is None
    create(world, where, OTHERS)


def test_neutron_tells_which_vlans_it_gives_to_anybody(world):
    assert list(world.segments.find_ranges(PHYSICAL)) == [GIVEN]
    assert list(world.segments.find_ranges('physnet2')) == []
    assert set(world.segments.find_unreached()) == set()


def test_a_worker_that_has_lost_the_claim_changes_no_network(world, where):
    with pytest.raises(exception.ClaimLost):
        create(world, where, check=worlds.lost)
    assert find(world, where) is None
    made = create(world, where)
    port = ports.NetworkPort(world.plug(made, '', ''), OTHERS)
    for change in (
        lambda: world.segments.delete_network(made, worlds.lost),
        lambda: world.segments.delete_port(port, worlds.lost),
        lambda: world.segments.tag(made, MARK, worlds.lost),
    ):
        with pytest.raises(exception.ClaimLost):
            change()
    assert find(world, where) == made
    assert len(world.segments.find_ports(made)) == 1
