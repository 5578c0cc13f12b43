# SPDX-License-Identifier: Apache-2.0
"""The verdict after a fault: checks that nothing is wrong."""

from collections import Counter
from collections.abc import Iterator
from concurrent import futures
import contextlib
import pathlib
import subprocess
import sys
import threading

import sqlalchemy as sa

from nova_reservations.db import models
from nova_reservations.objects import states
from sandbox import layout as lo
from sandbox import person
from sandbox import polls
from sandbox import story
from sandbox.faults import builds
from sandbox.faults import load

_LEASE = models.table(models.Lease)
_RESERVATION = models.table(models.Reservation)
_ALLOCATION = models.table(models.Allocation)
_RESOURCE = models.table(models.Resource)

#: Seconds after the end of a fault in which all leases must be over. Claims of
#: killed workers expire after 30 s, and a lease that waits for an operator is
#: checked every 60 s.
SETTLING = 120

#: Seconds after which the periodic sweep has run. Once a minute it removes the
#: leftovers of a worker that was stopped and went on.
SWEEPING = 75

_OVER = {states.Lease.TERMINATED, states.Lease.ERROR}


class Verdict:
    """Reads the state of the cloud directly, not through the proxies of the
    faults."""

    def __init__(self, layout: lo.Layout, database: sa.URL) -> None:
        self._layout = layout
        self._servers = [
            sa.table(
                'instances',
                *map(sa.column, ('host', 'display_name', 'deleted')),
                schema=layout.database_name(cell.database),
            )
            for cell in layout.cells
        ]
        self._engine = sa.create_engine(
            database, isolation_level='AUTOCOMMIT', pool_pre_ping=True
        )
        self._operator = person.Operator(layout.auth_url)
        #: All but the last host of the first cell.
        self.enrolled = tuple(
            host for host in layout.hosts if host != lo.HOSTS[-1]
        )

    def close(self) -> None:
        self._engine.dispose()

    def make_clock(self, name: str, hours: int) -> None:
        """Create a database function: a clock that is so many hours ahead."""
        with self._engine.connect() as connection:
            connection.exec_driver_sql(f'DROP FUNCTION IF EXISTS {name}')
            connection.exec_driver_sql(
                f'CREATE FUNCTION {name}() RETURNS DATETIME NO SQL '
                f'RETURN utc_timestamp() + INTERVAL {hours} HOUR'
            )

    def holder(self) -> str | None:
        """Return a worker that has claimed a lease; None if there is none."""
        with self._engine.connect() as connection:
            return connection.scalar(
                sa.select(_LEASE.c.claimed_by).where(
                    _LEASE.c.claimed_by.is_not(None)
                )
            )

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """Check all the time that no host is in two active leases, and that no
        leased host has a server without a lease.

        :raises Unexpected: in the end, if this was ever the case
        """
        over = threading.Event()

        def watch() -> list[str]:
            seen: list[str] = []
            while not over.wait(0.2):
                seen += self._doubled()
                seen += self._strangers()
            return seen

        with futures.ThreadPoolExecutor(1) as pool:
            watcher = pool.submit(watch)
            try:
                yield
            finally:
                over.set()
        story.expect(
            'hosts in two active leases, or with strangers',
            [],
            watcher.result(),
        )

    def _doubled(self) -> list[str]:
        with self._engine.connect() as connection:
            return [
                f'resource {row.resource_id}'
                for row in connection.execute(
                    sa.select(_ALLOCATION.c.resource_id)
                    .join(
                        _RESERVATION,
                        _RESERVATION.c.id == _ALLOCATION.c.reservation_id,
                    )
                    .join(_LEASE, _LEASE.c.id == _RESERVATION.c.lease_id)
                    .where(
                        _ALLOCATION.c.released == sa.false(),
                        _LEASE.c.status == states.Lease.ACTIVE,
                    )
                    .group_by(_ALLOCATION.c.resource_id)
                    .having(sa.func.count() > 1)
                )
            ]

    def _strangers(self) -> list[str]:
        with self._engine.connect() as connection:
            return [
                f'host {row.name}'
                for servers in self._servers
                # One statement, so that it sees one state of both databases.
                for row in connection.execute(
                    sa.select(_RESOURCE.c.name)
                    .join(
                        _ALLOCATION,
                        _ALLOCATION.c.resource_id == _RESOURCE.c.id,
                    )
                    .join(
                        _RESERVATION,
                        _RESERVATION.c.id == _ALLOCATION.c.reservation_id,
                    )
                    .join(_LEASE, _LEASE.c.id == _RESERVATION.c.lease_id)
                    .join(servers, servers.c.host == _RESOURCE.c.name)
                    .where(
                        _ALLOCATION.c.released == sa.false(),
                        _LEASE.c.status == states.Lease.ACTIVE,
                        servers.c.deleted == 0,
                        servers.c.display_name == builds.NAME,
                    )
                )
            ]

    def settle(self) -> None:
        """Wait until no lease needs any more work.

        :raises Unexpected: if that takes too long
        """
        polls.until(
            'no lease under way', self._under_way, lambda it: not it, SETTLING
        )

    def status(self, lease_id: str) -> str:
        """Return the status of a lease, though the API may not answer."""
        with self._engine.connect() as connection:
            return str(
                connection.scalar(
                    sa.select(_LEASE.c.status).where(_LEASE.c.id == lease_id)
                )
            )

    def _under_way(self) -> list[tuple[str, str, str | None]]:
        with self._engine.connect() as connection:
            return [
                (row.id, row.status, row.status_reason)
                for row in connection.execute(
                    sa.select(
                        _LEASE.c.id, _LEASE.c.status, _LEASE.c.status_reason
                    ).where(
                        sa.or_(
                            _LEASE.c.status.not_in(_OVER),
                            _LEASE.c.in_nova == sa.true(),
                        )
                    )
                )
            ]

    def pronounce(self, name: str, promises: load.Promises) -> str:
        """Return a summary of the leases with this name.

        :raises Unexpected: if anything is lost, doubled or left behind
        """
        found = self._leases(name)
        kept = promises.made - promises.deleted
        story.expect('promised leases that are gone', set(), kept - {*found})
        # If an outage lasts longer than a lease, its start may be missed. All
        # other failures of leases are errors.
        story.expect(
            'leases that failed',
            [],
            [
                (lease, reason)
                for lease, (status, reason) in found.items()
                if status == states.Lease.ERROR
                and 'could not be started before its end' not in (reason or '')
            ],
        )
        self._expect_clean()
        self._audit()
        counts = Counter(status for status, _ in found.values())
        return (
            f'{len(promises.made)} leases, {promises.servers} servers; '
            + ', '.join(
                f'{count} {status}' for status, count in sorted(counts.items())
            )
            + f', {len(promises.made - {*found})} deleted'
        )

    def _leases(self, name: str) -> dict[str, tuple[str, str | None]]:
        with self._engine.connect() as connection:
            return {
                row.id: (row.status, row.status_reason)
                for row in connection.execute(
                    sa.select(
                        _LEASE.c.id, _LEASE.c.status, _LEASE.c.status_reason
                    ).where(_LEASE.c.name == name)
                )
            }

    def _expect_clean(self) -> None:
        """Check Nova and placement by their APIs, as an operator can."""
        aggregates = polls.until(
            "only freepool among Nova's aggregates",
            self._operator.aggregates,
            lambda known: [*known] == ['freepool'],
            SWEEPING,
        )
        pool = aggregates['freepool']
        story.expect('the pool', [*self.enrolled], sorted(pool['hosts']))
        for host in self.enrolled:
            story.expect(
                f'aggregates of {host} in placement',
                [pool['uuid']],
                self._operator.provider(host, 'aggregates'),
            )
            story.expect(
                f'what holds {host} in placement',
                {},
                self._operator.provider(host, 'allocations'),
            )
            story.expect(
                f'whether {host} is closed to ordinary servers',
                True,
                person.POOL_TRAIT in self._operator.provider(host, 'traits'),
            )
            story.expect(
                f'servers on {host}', [], self._operator.servers_on(host)
            )

    def _audit(self) -> None:
        """Run the audit, as an operator does."""
        done = subprocess.run(
            [
                pathlib.Path(sys.executable).with_name(
                    'nova-reservations-manage'
                ),
                f'--config-file={self._layout.etc}/nova.conf',
                'audit',
            ],
            capture_output=True,
            text=True,
        )
        story.expect('findings of the audit', '', done.stdout)
        story.expect(f'exit of the audit ({done.stderr})', 0, done.returncode)
