# SPDX-License-Identifier: Apache-2.0
"""The table of reasons for holds, compared with the same rules as code."""

import datetime
import itertools
import types

import pytest

from nova_reservations.objects import holds
from nova_reservations.objects import states

NOON = datetime.datetime(2030, 1, 1, 12, tzinfo=datetime.UTC)


def every_resource():
    """Return all combinations of values of the columns of a resource."""
    return [
        {
            'down_since': down_since,
            'braked_at': braked_at,
            'hold': hold,
            'held_since': hold and NOON,
            'reservable': reservable,
            'fenced_for': fenced_for,
            'fenced_at': fenced_for and NOON,
        }
        for down_since, braked_at, hold, reservable, fenced_for in (
            itertools.product(
                (None, NOON),
                (None, NOON),
                (None, *states.Hold),
                (True, False),
                (None, 'lease 7'),
            )
        )
    ]


def allowed(resource, use):
    """Return whether the use is allowed, without the table."""
    failed = resource['down_since'] is not None
    works = not failed and resource['hold'] is None
    match use:
        case holds.Use.PROMISE:
            return works and resource['reservable']
        case holds.Use.KEEP:
            return not failed and (
                resource['reservable'] or resource['fenced_for'] is not None
            )
        case holds.Use.DRAIN | holds.Use.RETURN:
            return works
        case holds.Use.RUN:
            return not failed


@pytest.mark.parametrize('use', holds.Use)
def test_a_resource_is_held_from_a_use_exactly_if_a_reason_forbids_it(use):
    for resource in every_resource():
        held = holds.forbidding(types.SimpleNamespace(**resource), use)
        assert (not held) == allowed(resource, use)


def test_every_reason_tells_who_holds_the_resource_and_since_when():
    resource = types.SimpleNamespace(
        down_since=None,
        braked_at=None,
        hold=states.Hold.DISABLED,
        held_since=NOON,
        reservable=False,
        fenced_for='lease 7',
        fenced_at=NOON + datetime.timedelta(hours=1),
    )
    assert [
        (hold.reason, hold.since, hold.until, hold.by)
        for hold in holds.of(resource)
    ] == [
        ('disabled', NOON, None, 'operator'),
        (
            'emptied for a lease',
            NOON + datetime.timedelta(hours=1),
            None,
            'lease 7',
        ),
    ]


def test_every_value_of_a_column_is_a_reason():
    for hold in states.Hold:
        assert holds.of(types.SimpleNamespace(hold=hold))


def test_a_drainable_host_that_nobody_needs_does_not_settle():
    resource = types.SimpleNamespace(
        role=states.Role.DRAINABLE, reservable=False, fenced_for=None
    )
    [hold] = holds.of(resource)
    assert hold.reason == 'drainable, not in the pool'
    assert holds.Use.PROMISE in hold.forbids


def test_a_resource_that_nothing_is_known_against_is_not_held():
    assert holds.of(types.SimpleNamespace()) == ()
