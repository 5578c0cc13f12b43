# SPDX-License-Identifier: Apache-2.0
"""Steps of operators, and of other tools that work beside us."""

from nova_reservations.testing import addresses
from nova_reservations.testing import segments
from nova_reservations.tests.storm import lookers
from nova_reservations.tests.storm import world as worlds
from nova_reservations.tests.storm.verbs import verb

ADMIN = 'admin'
BOTH = (0, 1)
HOST_NUMBERS = tuple(range(len(worlds.HOSTS)))


@verb(2, name=worlds.HOSTS)
def add_a_host(world, name):
    world.ask(ADMIN, 'POST', '/os-hosts', {'name': name})


@verb(1, always=True, number=HOST_NUMBERS)
def remove_a_host(world, number):
    for noun, key in lookers.listed(world, 'os-hosts', 'hosts', number):
        world.ask(ADMIN, 'DELETE', f'/{noun}/{key}')


@verb(1, always=True, number=HOST_NUMBERS, gpu=(worlds.GPU, None))
def give_a_property(world, number, gpu):
    for noun, key in lookers.listed(world, 'os-hosts', 'hosts', number):
        world.ask(ADMIN, 'PUT', f'/{noun}/{key}', {'gpu': gpu})


@verb(1, private=(False, True))
def hide_a_property(world, private):
    path = '/os-hosts/properties/gpu'
    world.ask(ADMIN, 'PATCH', path, {'private': private})


@verb(
    2,
    number=HOST_NUMBERS,
    action=('uncordon', 'cordon', 'drain', 'empty', 'maintain'),
)
def act_on_a_host(world, number, action):
    window = {'from': world.date(10), 'until': world.date(40)}
    bodies = {
        'empty': {'drain': {'servers': 'migrate'}},
        'maintain': {'maintain': window},
    }
    body = bodies.get(action, {action: None})
    for noun, key in lookers.listed(world, 'os-hosts', 'hosts', number):
        answer = world.ask(ADMIN, 'POST', f'/{noun}/{key}/action', body)
        if answer.status_int == 200 and answer.json.get('lease_id'):
            world.made.append(answer.json['lease_id'])


@verb(1, number=BOTH)
def add_an_address(world, number):
    world.ask(ADMIN, 'POST', '/floatingips', worlds.address_of(number))


@verb(1, number=BOTH)
def add_a_segment(world, number):
    world.ask(ADMIN, 'POST', '/networks', worlds.vlan_of(number))


@verb(1, number=BOTH)
def add_a_pool(world, number):
    world.ask(ADMIN, 'POST', '/resources', worlds.pool_of(number))


@verb(1, always=True, number=BOTH)
def remove_things(world, number):
    for path in 'floatingips', 'networks', f'resources?{lookers.POOLS}':
        noun = path.partition('?')[0]
        for _, key in lookers.listed(world, path, noun, number):
            world.ask(ADMIN, 'DELETE', f'/{noun}/{key}')


@verb(1, always=True, number=BOTH, cordoned=(False, True))
def cordon_a_pool(world, number, cordoned):
    path = f'resources?{lookers.POOLS}'
    for noun, key in lookers.listed(world, path, 'resources', number):
        world.ask(ADMIN, 'PUT', f'/{noun}/{key}', {'cordoned': cordoned})


@verb(1, kind=('address', 'network'), number=BOTH)
def take_outside_of_a_lease(world, kind, number):
    """Let another tool take in Neutron what can be leased."""
    region = world.region
    if kind == 'address':
        last = int(worlds.ADDRESSES[number].rpartition('.')[2])
        if last not in addresses.there(region):
            addresses.take(region, last)
    elif worlds.VLANS[number] not in segments.there(region):
        segments.take(region, worlds.VLANS[number])


@verb(1)
def give_back_what_was_taken(world):
    cloud = world.region.cloud
    for taken in (cloud.floating_ips, cloud.segment_networks):
        for key in [
            key for key, made in taken.items() if made.project_id == 'other'
        ]:
            del taken[key]


@verb(1)
def remove_an_aggregate_by_hand(world):
    """Let another tool remove the first host of an aggregate of ours."""
    for members in world.region.cloud.aggregate_hosts.values():
        if members:
            members.discard(min(members))
            return
