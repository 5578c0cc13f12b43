# SPDX-License-Identifier: Apache-2.0
"""A resource keeps the properties that its name or its place gives it."""

import pytest

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.testing import addresses
from nova_reservations.testing import segments

GIVEN = [
    ('virtual:floatingip', 'network_id'),
    ('virtual:floatingip', 'subnet_id'),
    ('virtual:network', 'network_type'),
    ('virtual:network', 'physical_network'),
    ('virtual:network', 'segment_id'),
]


@pytest.fixture
def region(make_region):
    region = make_region(types={**addresses.TYPES, **segments.TYPES})
    addresses.enrol(region, 101)
    segments.enrol(region, 101)
    return region


@pytest.fixture(params=GIVEN, ids=' '.join)
def given(request, region):
    """A resource, and the name of a property that its name gives it."""
    resource_type, name = request.param
    [known] = region.resources.find(objects.ResourceQuery(resource_type))
    return known, name


@pytest.mark.parametrize('value', ['another', None])
def test_a_given_property_can_not_be_changed(region, given, value):
    known, name = given
    with pytest.raises(
        exception.InvalidInput, match=f'^{name} of {known.name}'
    ):
        region.resources.update(known.id, region.now, {}, {name: value})
    assert region.resources.get(known.id).properties == known.properties


def test_a_given_property_may_be_told_again_beside_what_changes(region, given):
    known, name = given
    told = {name: known.properties[name], 'rack': '7'}
    changed = region.resources.update(known.id, region.now, {}, told)
    assert changed.properties == {**known.properties, 'rack': '7'}
