# SPDX-License-Identifier: Apache-2.0
"""Leases that start while one write to the cloud fails."""

from collections.abc import Callable
from collections.abc import Iterator
import itertools

import pytest

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.testing import region as regions

SILENT = exception.CloudUnavailable(service='It', reason='silent')
"""The write is tried again and succeeds: the lease becomes ACTIVE."""

REFUSED = exception.CloudRefused(what='It', reason='no')
"""The write is not tried again: the lease becomes ERROR."""

whatever_fails = pytest.mark.parametrize(
    'error', [REFUSED, SILENT], ids=['refused', 'silent']
)


def each(
    tell: Callable[[], tuple[regions.Region, objects.Lease]],
    error: exception.ReservationsError,
) -> Iterator[tuple[regions.Region, objects.Lease]]:
    """For each write of a start, let a lease start while that write fails.
    Yield the region and the lease two minutes later.

    :param tell: returns another region, and a lease in it that is due
    """
    for number in itertools.count(1):
        region, lease = tell()
        writes = itertools.count(1)

        def fail(
            write: str, writes: Iterator[int] = writes, number: int = number
        ) -> None:
            if next(writes) == number:
                raise error

        region.cloud.before = fail
        region.forward(until=2)
        if next(writes) <= number:
            return
        region.cloud.before = lambda write: None
        yield region, lease
