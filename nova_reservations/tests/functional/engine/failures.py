# SPDX-License-Identifier: Apache-2.0
"""Hosts fail and recover; their leases show it."""

import datetime

HOUR = datetime.timedelta(hours=1)


def check(region):
    """Run the periodic check, and all work that follows from it."""
    healed = region.healing.heal(region.now)
    region.work()
    return healed


def fail(region, host, **how):
    region.cloud.fail(host, **how)
    region.look()


def recover(region, host):
    region.cloud.recover(host)
    region.look()


def flags(region, lease):
    lease = region.see(lease)
    [reservation] = lease.reservations
    assert lease.degraded == (
        reservation.missing_resources or reservation.resources_changed
    )
    return reservation.missing_resources, reservation.resources_changed


WHOLE, MISSING, CHANGED = (False, False), (True, False), (False, True)


def on(name):
    return {'resource_properties': f'["==", "$service_name", "{name}"]'}


def used(region, lease):
    access = region.access.find(lease.reservations[0].id)
    return set(access.hosts)
