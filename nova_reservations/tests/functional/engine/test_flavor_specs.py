# SPDX-License-Identifier: Apache-2.0
"""Slots of a flavor are on hosts where Nova would put its servers."""

import dataclasses

import pytest

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.types.servers import flavor
from nova_reservations.types.servers import host

FLAVOR = 'flavor:instance'
SSD = 'aggregate_instance_extra_specs:ssd'


@pytest.fixture
def region(make_region):
    region = make_region(
        'one',
        'two',
        types={objects.HOST: host.PhysicalHost, FLAVOR: flavor.FlavorInstance},
    )
    change(region, 'two', cpu='{"features": ["aes"]}', ssd='true', rack='2')
    return region


def change(region, name, cpu='{}', **metadata):
    """Change what Nova knows of a host, and look at the hosts again."""
    specs = {
        f'aggregate_instance_extra_specs:{key}': value
        for key, value in metadata.items()
    }
    region.cloud.known[name] = dataclasses.replace(
        region.cloud.known[name],
        cpu_info=cpu,
        specs=tuple(sorted({**specs, 'cpu_info': cpu}.items())),
        aggregates=str(metadata),
    )
    region.hosts.refresh(region.now)


def lease(region, specs, amount=1):
    region.cloud.known_flavors['own'] = ports.KnownFlavor(
        'own',
        'own',
        True,
        ports.Flavor(1, 1, 0, extra_specs=specs),
        {'VCPU': 1},
        frozenset(),
        frozenset(),
    )
    return region.lease_of(
        (FLAVOR, {'flavor_id': 'own', 'amount': amount, 'affinity': None})
    )


@pytest.mark.parametrize(
    'specs',
    [
        {SSD: 'true'},
        {'ssd': '<or> false <or> true'},
        {'capabilities:cpu_info:features': '<in> aes'},
        {'capabilities:host': 'two', 'rack': '>= 2', 'hw:cpu_policy': 'any'},
    ],
)
def test_slots_are_where_nova_would_build_the_servers(region, specs):
    made = lease(region, specs, amount=20)
    region.work()
    assert region.status(made) == 'ACTIVE'
    [reservation] = made.reservations
    assert region.cloud.classes[reservation.id] == {'two': 20}


@pytest.mark.parametrize(
    'specs',
    [
        {SSD: 'false'},
        {'colour': 'red'},
        {'capabilities:cpu_info:features': '<all-in> aes avx2'},
        {'capabilities:hypervisor_type': 'ironic'},
    ],
)
def test_a_flavor_that_no_host_meets_is_refused(region, specs):
    with pytest.raises(exception.NotEnoughResources, match='0 hosts match'):
        lease(region, specs)


@pytest.mark.parametrize(
    'specs',
    [
        {'capabilities:num_instances': '<= 5'},
        {'capabilities:stats:boot_mode': 'uefi'},
        {'capabilities:boot_mode': 'uefi'},
        {'free_ram_mb': '>= 1'},
    ],
)
def test_a_flavor_by_which_nothing_can_be_planned_is_refused(region, specs):
    [(key, value)] = specs.items()
    with pytest.raises(exception.InvalidInput, match=f'{key}={value}'):
        lease(region, specs)


def test_a_host_that_joins_an_aggregate_can_be_had(region):
    with pytest.raises(exception.NotEnoughResources):
        region.lease(minimum=2, resource_properties={SSD: 'true'})
    change(region, 'one', ssd='true, fast')
    region.lease(minimum=2, resource_properties={SSD: 'true'})


def test_requirements_are_in_the_words_of_nova(region):
    for asked in (
        {'capabilities:cpu_info:features': '<in> aes'},
        ['s==', f'${SSD}', 'true'],
    ):
        made = region.lease(resource_properties=asked)
        assert region.hosts_of(made) == {'two'}
        region.leases.delete(made.id, region.now)
