# SPDX-License-Identifier: Apache-2.0
"""Reports of usage: what projects held and used in a window of time.

One project is read at a time, and forgotten as soon as it was yielded, so
memory grows only with the leases of one project in the window. What still goes
on counts until the end of the window, or until now if that is earlier.

Decision 0044: doc/source/decisions/0044-usage-is-summed-when-it-is-asked
"""

from collections.abc import Iterator
import dataclasses
import decimal

from nova_reservations.db import api
from nova_reservations.db.record import usage
from nova_reservations.db.record import usage_reports
from nova_reservations.objects import interval
from nova_reservations.objects import usage as records
from nova_reservations.objects import usage_reports as reports
from nova_reservations.plugins.rating import base


class UsageReports:
    """:param rating: what says the amounts; None: nothing has an amount
    :param digits: how many digits an amount has after the point
    """

    def __init__(
        self, database: api.Database, rating: base.Rating | None, digits: int
    ) -> None:
        self.database = database
        self.rating = rating
        self.step = decimal.Decimal(1).scaleb(-digits)

    def find(
        self, query: reports.ReportQuery
    ) -> Iterator[reports.ProjectUsage]:
        """Yield the usage of projects that have any, in the order of their
        ids, as it is wanted."""
        until = min(query.window.end, query.now)
        if query.window.start >= until:
            return
        window = interval.Interval(query.window.start, until)
        told = 0
        for project_id in self._projects(query):
            if told == query.limit:
                return
            leases = self._leases(project_id, window)
            if leases:
                told += 1
                yield self._rated(
                    reports.ProjectUsage(project_id, window, tuple(leases))
                )

    def _projects(self, query: reports.ReportQuery) -> Iterator[str]:
        if query.project_id is not None:
            yield query.project_id
            return
        project_id = query.marker
        while True:
            with self.database.reader() as session:
                project_id = usage_reports.next_project(session, project_id)
            if project_id is None:
                return
            yield project_id

    def _leases(
        self, project_id: str, window: interval.Interval
    ) -> list[reports.LeaseUsage]:
        query = records.UsageQuery(window.start, window.end, project_id)
        with self.database.reader() as session:
            found = reports.of_leases(
                usage.find(session, query),
                usage.find_servers(session, query),
                window,
            )
            # These rows do not go back beyond the start of the window.
            starts = usage_reports.first_starts(
                session,
                {
                    reservation_id
                    for lease in found
                    if lease.begins
                    for reservation_id in lease.reservation_ids
                },
            )
        return [
            dataclasses.replace(
                lease,
                started_at=starts.get(lease.lease_id, lease.started_at),
            )
            for lease in found
        ]

    def _rated(self, usage: reports.ProjectUsage) -> reports.ProjectUsage:
        if self.rating is None:
            return usage
        return dataclasses.replace(
            usage,
            unit=self.rating.unit,
            leases=tuple(
                dataclasses.replace(
                    lease,
                    amount=self.rating.rate(lease).quantize(
                        self.step, decimal.ROUND_HALF_UP
                    ),
                )
                for lease in usage.leases
            ),
        )
