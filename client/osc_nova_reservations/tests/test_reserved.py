# SPDX-License-Identifier: Apache-2.0
"""Reservations of leases are told in words."""

import json

import pytest

from osc_nova_reservations import leases
from osc_nova_reservations import reserved

HOSTS = {'id': 'r1', 'resource_type': 'physical:host', 'min': 2, 'max': 4}
SIZE = {'vcpus': 2, 'memory_mb': 1024, 'disk_gb': 10}
SLOTS = {'id': 'r2', 'resource_type': 'virtual:instance', 'amount': 1, **SIZE}
FLAVOR = SLOTS | {
    'resource_type': 'flavor:instance',
    'amount': 4,
    'resource_properties': json.dumps({'name': 'm1.large', 'ram': 8192}),
}


@pytest.mark.parametrize(
    ('reservations', 'text'),
    [
        ([HOSTS], '2-4 hosts'),
        ([HOSTS | {'min': 1, 'max': 1}], '1 host'),
        ([SLOTS], '1 slot of 2 VCPUs, 1024 MiB, 10 GiB'),
        ([FLAVOR], '4 slots of m1.large'),
        ([FLAVOR | {'resource_properties': ''}], '4 slots'),
        ([SLOTS | {'on_end': [], 'servers': ['s']}], '1 server'),
        ([{'resource_type': 'virtual:floatingip'}], 'virtual:floatingip'),
        ([{'resource_type': 'gpu', 'amount': 2}], '2 gpus'),
        ([HOSTS | {'max': 2}, FLAVOR], '2 hosts, 4 slots of m1.large'),
        ([], ''),
    ],
)
def test_a_lease_is_summed_up(reservations, text):
    assert reserved.of_lease({'reservations': reservations}) == text


PARTS = [
    {'id': 'w', 'resource_type': 'test:cluster', 'status': 'active'},
    HOSTS | {'part_of': 'w', 'part_name': 'hosts'},
    SLOTS | {'part_of': 'w', 'part_name': 'nodes', 'status': 'active'},
]


def test_a_reservation_that_has_parts_is_summed_up_by_them():
    assert reserved.of_lease({'reservations': PARTS}) == (
        '2-4 hosts, 1 slot of 2 VCPUs, 1024 MiB, 10 GiB'
    )


def test_a_part_is_shown_with_what_it_is_part_of():
    column = reserved.Column(PARTS[:2])
    assert column.human_readable() == (
        'test:cluster, active\n  id: w\n'
        '2-4 hosts\n  id: r1\n  part "hosts" of w'
    )


def test_a_list_has_it(run, api):
    api.add([HOSTS], name='mine')
    for words in (), ('--long',):
        [row] = run(leases.ListLease, *words)
        assert row['Reserved'] == '2-4 hosts'


SHOWN = HOSTS | {
    'status': 'active',
    'lease_id': 'l',
    'resource_id': 'r1',
    'missing_resources': False,
    'resource_properties': '',
    'hypervisor_properties': '[">=", "$vcpus", "16"]',
    'before_end': None,
    'hosts': [{'id': '7', 'service_name': 'compute-7'}],
    'servers': ['s1', 's2'],
}


def test_a_lease_is_shown_line_by_line():
    shown = reserved.Column([SHOWN, FLAVOR | {'used': 0}])
    assert shown.human_readable().splitlines() == [
        '2-4 hosts, active',
        '  id: r1',
        '  host compute-7 (ID 7)',
        '  server s1',
        '  server s2',
        '  hypervisor_properties: [">=", "$vcpus", "16"]',
        '4 slots of m1.large',
        '  id: r2',
        '  used: 0',
    ]


def test_a_reservation_that_others_share_is_no_more_than_its_id():
    assert reserved.Column([{'id': 'r1'}]).human_readable() == '  id: r1'


def test_a_script_gets_all_of_it():
    assert reserved.Column([SHOWN, FLAVOR]).machine_readable() == [
        SHOWN,
        FLAVOR,
    ]
