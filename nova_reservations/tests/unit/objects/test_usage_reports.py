# SPDX-License-Identifier: Apache-2.0
"""Sums of the usage record in a window, compared with a count second by
second."""

import datetime

from hypothesis import given
from hypothesis import strategies

from nova_reservations.objects import interval
from nova_reservations.objects import usage as records
from nova_reservations.objects import usage_reports as reports

NOON = datetime.datetime(2030, 1, 1, 12, tzinfo=datetime.UTC)
LAST = 30
"""The number of seconds, each of which is counted."""


def at(second):
    return NOON + datetime.timedelta(seconds=second)


def of_lease(lease, start, end):
    return {
        'id': 0,
        'lease_id': f'lease-{lease}',
        'reservation_id': f'reservation-{lease}',
        'project_id': 'lessee',
        'user_id': 'user',
        'started_at': at(start),
        'ended_at': None if end is None else at(end),
    }


def held(lease, start, end, amount=1, name='VCPU', degraded=False):
    return records.Usage(
        **of_lease(lease, start, end),
        lease_name=f'since {start}',
        lease_type='scheduled',
        resource_type='physical:host',
        resource_class=name,
        amount=amount,
        degraded=degraded,
    )


def server(lease, start, end, vcpus=2):
    return records.ServerUsage(
        **of_lease(lease, start, end),
        server_uuid='server',
        flavor='m1',
        vcpus=vcpus,
        memory_mb=512,
        disk_gb=0,
    )


SECONDS = strategies.integers(0, LAST)
ENDS = strategies.one_of(strategies.none(), strategies.integers(1, LAST + 9))


@strategies.composite
def times(draw):
    start, end = draw(SECONDS), draw(ENDS)
    return start, end if end is None or end > start else start + 1


@strategies.composite
def rows(draw):
    return held(
        draw(strategies.integers(0, 2)),
        *draw(times()),
        amount=draw(strategies.integers(1, 9)),
        name=draw(strategies.sampled_from(['VCPU', 'slots'])),
        degraded=draw(strategies.booleans()),
    )


@strategies.composite
def windows(draw):
    start = draw(strategies.integers(0, LAST - 1))
    return start, draw(strategies.integers(start + 1, LAST))


def lasts(row, second):
    """Return whether a row counts in the second that begins at that time."""
    return row.started_at <= at(second) and (
        row.ended_at is None or at(second) < row.ended_at
    )


def brute_force(lease, window, found):
    """Return (seconds, reserved, degraded) of a lease."""
    seconds, reserved, degraded = 0, {}, {}
    for second in range(*window):
        now = [
            row
            for row in found
            if row.lease_id == lease and lasts(row, second)
        ]
        seconds += bool(now)
        for row in now:
            name = row.resource_class
            reserved[name] = reserved.get(name, 0) + row.amount
            if row.degraded:
                degraded[name] = degraded.get(name, 0) + row.amount
    return seconds, reserved, degraded


def positive(sums):
    return {name: units for name, units in sums.items() if units}


@given(strategies.lists(rows(), max_size=8), windows())
def test_sums_are_what_is_counted_second_by_second(found, window):
    summed = reports.of_leases(found, [], interval.Interval(*map(at, window)))
    assert {lease.lease_id for lease in summed} == {
        row.lease_id for row in found
    }
    for lease in summed:
        assert brute_force(lease.lease_id, window, found) == (
            lease.seconds,
            positive(lease.reserved),
            positive(lease.degraded),
        )


@given(strategies.lists(rows(), max_size=8), windows(), SECONDS)
def test_windows_that_follow_each_other_sum_up(found, window, middle):
    start, end = window
    middle = min(max(middle, start + 1), end)
    parts = [(start, middle), (middle, end)] if middle < end else [window]

    def sums(*times):
        whole = reports.ProjectUsage(
            'lessee',
            interval.Interval(*map(at, times)),
            tuple(
                reports.of_leases(
                    found, [], interval.Interval(*map(at, times))
                )
            ),
        )
        return whole.seconds, whole.sums('reserved')

    found_parts = [sums(*part) for part in parts]
    seconds, reserved = sums(*window)
    assert seconds == sum(each for each, _ in found_parts)
    for name, units in reserved.items():
        assert units == sum(each[name] for _, each in found_parts)


def test_servers_count_by_their_flavors_and_as_servers():
    [lease] = reports.of_leases(
        [held(1, 0, None)],
        [server(1, 5, 15), server(1, 10, None, vcpus=1)],
        interval.Interval(at(0), at(20)),
    )
    assert lease.used == {
        'VCPU': 2 * 10 + 10,
        'MEMORY_MB': 512 * 20,
        'DISK_GB': 0,
        'servers': 20,
    }


def test_a_lease_has_its_last_name_and_goes_on_if_any_part_does():
    [lease] = reports.of_leases(
        [held(1, 3, None), held(1, 0, 3)],
        [],
        interval.Interval(at(0), at(9)),
    )
    assert (lease.name, lease.ended_at) == ('since 3', None)
    assert lease.started_at == at(0)
    [lease] = reports.of_leases(
        [held(1, 3, 6), held(1, 0, 4)], [], interval.Interval(at(0), at(9))
    )
    assert lease.ended_at == at(6)
