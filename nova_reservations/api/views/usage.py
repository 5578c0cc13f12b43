# SPDX-License-Identifier: Apache-2.0
"""Usage of leases, in the format of Nova's os-simple-tenant-usage."""

from collections.abc import Mapping
import decimal
from typing import Any

from nova_reservations.api import dates
from nova_reservations.objects import interval
from nova_reservations.objects import usage as records
from nova_reservations.objects import usage_reports as reports

_HOUR = 3600


def show(
    usage: reports.ProjectUsage, window: interval.Interval, is_detailed: bool
) -> dict[str, Any]:
    """:param window: the requested window"""
    reserved = usage.sums('reserved')
    shown = {
        'tenant_id': usage.project_id,
        'start': dates.show(window.start),
        'stop': dates.show(window.end),
        'total_hours': _hours(usage.seconds),
        'total_vcpus_usage': _hours(reserved[records.VCPU]),
        'total_memory_mb_usage': _hours(reserved[records.MEMORY_MB]),
        'total_local_gb_usage': _hours(reserved[records.DISK_GB]),
        'reserved': _all_hours(reserved),
        'degraded': _all_hours(usage.sums('degraded')),
        'used': _all_hours(usage.sums('used')),
        'total_amount': _amount(usage.amount),
        'unit': usage.unit,
    }
    if is_detailed:
        shown['lease_usages'] = [
            _lease(lease, usage.unit) for lease in usage.leases
        ]
    return shown


def _lease(lease: reports.LeaseUsage, unit: str | None) -> dict[str, Any]:
    return {
        'lease_id': lease.lease_id,
        'name': lease.name,
        'tenant_id': lease.project_id,
        'user_id': lease.user_id,
        'lease_type': lease.lease_type,
        'state': 'active' if lease.ended_at is None else 'ended',
        'started_at': dates.show(lease.started_at),
        'ended_at': lease.ended_at and dates.show(lease.ended_at),
        'hours': _hours(lease.seconds),
        'reserved': _all_hours(lease.reserved),
        'degraded': _all_hours(lease.degraded),
        'used': _all_hours(lease.used),
        'amount': _amount(lease.amount),
        'unit': unit,
    }


def _all_hours(sums: Mapping[str, int]) -> dict[str, float]:
    return {name: _hours(sums[name]) for name in sorted(sums) if sums[name]}


def _hours(seconds: int) -> float:
    return seconds / _HOUR


def _amount(amount: decimal.Decimal | None) -> str | None:
    """Return an amount as text: a JSON number would be rounded again."""
    return None if amount is None else f'{amount:f}'
