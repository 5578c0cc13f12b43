# SPDX-License-Identifier: Apache-2.0
"""The cost of a failure, and of the check that looks for leases to heal."""

import datetime
import itertools
import statistics

from oslo_config import cfg
import sqlalchemy as sa

from nova_reservations import bootstrap
from nova_reservations import conf as options
from nova_reservations import objects
from nova_reservations.db import models
from nova_reservations.plugins.monitors import base
from sandbox.bench import fleet
from sandbox.bench import measure
from sandbox.bench import subject as su
from sandbox.bench.report import Figure
from sandbox.bench.report import Row

HOSTS = 1000
LEASES_OF_EACH = 100
"""Leases of each group of ten hosts: 10,000 reservations in total."""

_ALLOCATION = models.table(models.Allocation)
_LEASE = models.table(models.Lease)
_RESERVATION = models.table(models.Reservation)


class _Monitor(base.Monitor):
    """Has all hosts in one domain."""

    resource_type = objects.HOST


def heal(subject: su.Subject) -> Row:
    """Heal one failure among 1,000 hosts and 10,000 reservations; check."""
    now = su.now()
    future = fleet.Future(
        subject.databases, subject.project_id, now, HOSTS, LEASES_OF_EACH
    )
    try:
        future.create(subject.enrolled[0])
        # The first lease of each host is active then, and none is over.
        then = now.replace(minute=0, second=0) + datetime.timedelta(
            days=1, hours=23, minutes=30
        )
        _begin(subject, then)
        return _measured(subject, then)
    finally:
        # Allocations of hosts that Future has not created, by healing.
        with subject.databases.ours.connect() as connection:
            connection.execute(
                sa.delete(_ALLOCATION).where(
                    _ALLOCATION.c.reservation_id.startswith(fleet.RESERVATION)
                )
            )
        future.delete()


def _begin(subject: su.Subject, then: datetime.datetime) -> None:
    """Make the leases active that start before this time. The workers of the
    cloud do not handle them, because that time is in the future."""
    begun = sa.and_(
        _LEASE.c.id.startswith(fleet.LEASE), _LEASE.c.start_date <= then
    )
    with subject.databases.ours.connect() as connection:
        connection.execute(
            sa.update(_RESERVATION)
            .where(
                _RESERVATION.c.lease_id.in_(
                    sa.select(_LEASE.c.id).where(begun)
                )
            )
            .values(status='active')
        )
        connection.execute(
            sa.update(_LEASE).where(begun).values(status='ACTIVE')
        )


def _measured(subject: su.Subject, then: datetime.datetime) -> Row:
    conf = cfg.ConfigOpts()
    options.register_opts(conf)
    conf([], default_config_files=[])
    conf.set_override(
        'connection',
        subject.layout.database('nova_api'),
        group='reservations',
    )
    services = bootstrap.build(conf, notify=lambda event_type, payload: None)
    monitor = _Monitor(services.hosts.cloud, conf)
    number = itertools.count(1_000_000)

    def check() -> float:
        return measure.seconds(lambda: services.healing.heal(then))

    def failure() -> float:
        failed = base.Changes(failed=[f'future-{next(number)}'])

        def see_and_heal() -> None:
            services.monitoring.record(monitor, failed, then)
            healed.append(len(services.healing.heal(then)))

        return measure.seconds(see_and_heal)

    healed: list[int] = []
    try:
        check()
        checks = [check() for _ in range(subject.pick(5, 20))]
        failures = [failure() for _ in range(subject.pick(5, 20))]
    finally:
        services.database.dispose()
    if set(healed) != {1}:
        raise RuntimeError(f'leases healed after each failure: {healed}')
    return Row(
        [
            Figure(
                f'a check of {HOSTS:,} hosts with '
                f'{HOSTS * LEASES_OF_EACH // 10:,} reservations, p50',
                statistics.median(checks),
                's',
                limit=0.1,
            ),
            Figure(
                'a failure seen and healed there, p50',
                statistics.median(failures),
                's',
                limit=2,
            ),
            Figure('the longest of these', max(failures), 's', limit=2),
        ]
    )
