# SPDX-License-Identifier: Apache-2.0
"""The key of Blazar's clients in flavors says nothing to Nova's filters."""

from nova import objects as nova_objects
import pytest

from nova_reservations.cloud.slots import slot_flavors
from nova_reservations.objects import ids
from nova_reservations.scheduler import requests

OURS = ids.new()
THEIRS = '0b3d4a52-7c7b-4a3a-9d3b-2f4a1b6c8e90'


@pytest.mark.parametrize(
    'specs',
    [
        {slot_flavors.RESERVATION_SPEC: OURS},
        {},
        {'hw:cpu_policy': 'shared'},
    ],
)
def test_the_scheduler_does_not_see_it(specs):
    spec = nova_objects.RequestSpec(
        flavor=nova_objects.Flavor(
            extra_specs={slot_flavors.BLAZAR_SPEC: OURS, **specs}
        )
    )
    requests.bind_no_host(spec)
    assert spec.flavor.extra_specs == specs


@pytest.mark.parametrize('value', [THEIRS, 'gold', ''])
def test_a_key_that_is_not_ours_is_seen(value):
    specs = {slot_flavors.BLAZAR_SPEC: value}
    spec = nova_objects.RequestSpec(
        flavor=nova_objects.Flavor(extra_specs=dict(specs))
    )
    requests.bind_no_host(spec)
    assert spec.flavor.extra_specs == specs
