# SPDX-License-Identifier: Apache-2.0
"""The parts of leases of stacks.

Decision 0058: doc/source/decisions/0058-stacks
"""

from nova_reservations.types.heat import stack_parts

LONG = 'x' * 100


def test_volumes_whose_types_have_long_names_are_told_apart():
    types = {'a': f'{LONG} fast', 'b': f'{LONG} slow', 'c': f'{LONG} slow'}
    found = stack_parts.alike_volumes(
        [
            {'name': name, 'size_gb': 1, 'volume_type': volume_type}
            for name, volume_type in types.items()
        ]
    )
    assert [[each['name'] for each in alike] for alike in found.values()] == [
        ['a'],
        ['b', 'c'],
    ]
    assert max(map(len, found)) == 64
