# SPDX-License-Identifier: Apache-2.0
import pytest

from nova_reservations.objects import amounts
from nova_reservations.objects import demand

SLOT = demand.Share('physical:host', 3, {'VCPU': 2, 'MEMORY_MB': 1024})


@pytest.mark.parametrize(
    ('asked', 'fits'),
    [
        ({'VCPU': 2, 'MEMORY_MB': 1024}, True),
        ({'VCPU': 1}, True),
        ({}, True),
        ({'VCPU': 3, 'MEMORY_MB': 1}, False),
        ({'VCPU': 1, 'VGPU': 1}, False),
    ],
)
def test_a_slot_holds_what_is_no_more_of_any_class(asked, fits):
    assert amounts.Amounts(asked).fits(SLOT.slot) is fits
