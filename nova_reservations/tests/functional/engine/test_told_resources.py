# SPDX-License-Identifier: Apache-2.0
"""Notifications of a lease tell what the lease holds at that moment."""

import contextlib

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.engine import notifications
from nova_reservations.tests.functional.engine import failures

WHOLE = {'VCPU': 16, 'MEMORY_MB': 65536, 'DISK_GB': 1000, objects.HOST: 1}
"""A lease of one host holds this much."""


def told(region, event_type):
    """Return the resources of the lease's only reservation in the last
    notification of this type; None if there are none."""
    *_, payload = (
        payload for kind, payload in region.notes if kind == event_type
    )
    [reservation] = payload['reservations']
    return reservation.get('resources')


def test_notifications_say_what_a_lease_holds_from_its_start_to_its_end(
    region,
):
    lease = region.active_lease(minimum=2)
    names = sorted(region.hosts_of(lease))
    assert told(region, 'lease.create') is None
    held = told(region, 'lease.event.start_lease')
    assert (held['count'], sorted(held['names'])) == (2, names)
    assert held['amounts'] == {name: 2 * n for name, n in WHOLE.items()}
    assert held['degraded'] == {}
    region.change(lease, min=3, max=3)
    assert told(region, 'lease.update')['amounts'][objects.HOST] == 3
    region.forward(until=61)
    assert told(region, 'lease.event.end_lease') is None


def test_notifications_say_what_of_a_lease_can_not_be_used(make_region):
    region = make_region('one')
    region.active_lease()
    failures.fail(region, 'one')
    held = told(region, 'lease.degraded')
    assert (held['names'], held['amounts']) == (['one'], WHOLE)
    assert held['degraded'] == WHOLE


def test_no_more_are_named_than_a_bus_takes(region, monkeypatch):
    monkeypatch.setattr(notifications, 'MOST_NAMES', 2)
    region.active_lease(minimum=3)
    held = told(region, 'lease.event.start_lease')
    assert (held['count'], len(held['names'])) == (3, 2)


def test_notifications_are_sent_without_that_while_the_database_is_away(
    region, monkeypatch
):
    lease = region.active_lease()
    sent = []
    tell = notifications.telling_held(
        region.database, lambda *note: sent.append(note)
    )

    @contextlib.contextmanager
    def away():
        raise exception.DatabaseUnavailable(reason='gone')
        yield

    payload = notifications.payload(lease)
    tell('lease.update', payload)
    monkeypatch.setattr(region.database, 'reader', away)
    tell('lease.update', payload)
    (_, before), (_, meanwhile) = sent
    assert before['reservations'][0]['resources']['count'] == 1
    assert meanwhile == payload
