# SPDX-License-Identifier: Apache-2.0
"""Metrics of the service as a whole, for operators. They are read from the
database, so they are the same in all processes.

METRICS is the only table of them: the command prints it, and the documentation
is tested against it.

Decision 0043: doc/source/decisions/0043-what-operators-watch
"""

from collections import Counter
from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import datetime
import math

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.db import api
from nova_reservations.db import migration
from nova_reservations.db.holdings import commitments
from nova_reservations.db.leases import unused
from nova_reservations.db.upkeep import service_metrics as rows
from nova_reservations.engine import claimed_leases
from nova_reservations.engine import clocks
from nova_reservations.engine.leases import refusal_counts
from nova_reservations.engine.outlook import capacity
from nova_reservations.objects import holds
from nova_reservations.objects import states

PREFIX = 'nova_reservations_'

RECENT = datetime.timedelta(hours=1)
"""Starts and ends that were due within this time before now are looked at."""

MOST = 10_000
"""The most starts, and the most ends, that are looked at: the latest ones."""

PERCENTILES = (50, 95, 100)

DAYS = (1, 7, 30)
"""The times, from now on, for which free hosts are counted."""


@dataclasses.dataclass(frozen=True, slots=True)
class Metric:
    """:ivar name: without the prefix.

    :ivar labels: the names of its labels, in their order.
    :ivar counts: whether it is a counter, which only grows.
    """

    name: str
    help: str
    labels: tuple[str, ...] = ()
    counts: bool = False


METRICS = (
    Metric(
        'read_timestamp_seconds',
        'When these numbers were read, by the clock of the database.',
    ),
    Metric(
        'schema',
        '1 for what the tables are to this code: current, old, or newer.',
        ('state',),
    ),
    Metric(
        'clock_difference_seconds',
        'How far the clock of the database is ahead of that of the machine '
        'that has read these numbers.',
    ),
    Metric(
        'overdue_seconds',
        'For how long the lease, or the periodic task, that has been due the '
        'longest has waited for a worker.',
        ('work',),
    ),
    Metric(
        'claims_taken_over_total',
        'Leases whose worker was not heard of any more, so that another one '
        'went on with them.',
        counts=True,
    ),
    Metric('hosts', 'Hosts of the pool.'),
    Metric('hosts_bookable', 'Hosts of the pool that new leases can get.'),
    Metric(
        'hosts_held',
        'Hosts of the pool that no new lease gets, by the reason; one may '
        'have several.',
        ('reason',),
    ),
    Metric(
        'hosts_free',
        'Hosts that a lease could have which begins now and lasts so many '
        'days; none where there are too many leases to count them.',
        ('days',),
    ),
    Metric(
        'leases',
        'Leases that are not over, by their status; ERROR: those of which '
        'something is left in Nova.',
        ('status',),
    ),
    Metric(
        'leases_waiting',
        'Leases that wait for hosts, by their type.',
        ('lease_type',),
    ),
    Metric('leases_degraded', 'Leases that are not over and lack a resource.'),
    Metric(
        'leases_unused',
        'Active leases in which no server has ever been.',
    ),
    Metric(
        'steps_recent',
        'Starts and ends of leases that were due in the last hour.',
        ('step',),
    ),
    Metric(
        'lateness_seconds',
        'How late starts and ends were that were due in the last hour: '
        'no more than this in so many per cent of them.',
        ('step', 'percentile'),
    ),
    Metric(
        'longest_end_seconds',
        'For how long the end has lasted that has lasted the longest of '
        'those that are not over.',
    ),
    Metric(
        'refusals_total',
        'Requests for leases, and for changes of leases, that were refused.',
        ('reason',),
        counts=True,
    ),
    Metric(
        'project_hosts',
        'Whole hosts that leases of a project have now.',
        ('project_id',),
    ),
    Metric(
        'project_host_seconds_total',
        'How long leases of a project had whole hosts, the time of each host '
        'added up; it begins anew at midnight (UTC).',
        ('project_id',),
        counts=True,
    ),
)

Labels = tuple[str, ...]

Samples = Mapping[Labels, float]
"""Values of the labels, in the order of the labels -> the number."""

Readings = Mapping[str, Samples]
"""Name of a metric -> its samples."""


@dataclasses.dataclass(eq=False)
class ServiceMetrics:
    database: api.Database
    clock: clocks.Clock
    counts: capacity.Capacity

    def schema(self) -> Readings:
        """Return the state of the schema, the only metric that can be read if
        the tables are older than this code.

        :raises: DatabaseUnavailable
        """
        found = migration.state(self.database)
        return {
            'schema': {
                (state,): float(state is found) for state in migration.State
            }
        }

    def read(self) -> Readings:
        """Return the samples of all metrics.

        :raises: DatabaseUnavailable
        """
        now, ahead = self.clock.both()
        with self.database.reader() as session:
            members = commitments.members(session, objects.HOST)
            found: Readings = {
                **_hosts(members.values()),
                **_leases(session),
                **_steps(session, now),
                **_counters(session),
                **_projects(session, now),
                'overdue_seconds': _overdue(session, now),
            }
        return {
            **self.schema(),
            **found,
            'read_timestamp_seconds': {(): now.timestamp()},
            'clock_difference_seconds': {(): ahead.total_seconds()},
            'hosts_free': self._free(now),
        }

    def _free(self, now: datetime.datetime) -> Samples:
        free: dict[Labels, float] = {}
        for days in DAYS:
            length = datetime.timedelta(days=days)
            try:
                [point] = self.counts.find(now, now + length, length, now)
            except exception.InvalidInput:
                # There are more leases than one answer may count.
                continue
            free[str(days),] = float(point.free)
        return free


def _hosts(members: Collection[Sequence[holds.Hold]]) -> Readings:
    held = Counter(hold.key for its in members for hold in its)
    return {
        'hosts': {(): float(len(members))},
        'hosts_bookable': {(): float(sum(not its for its in members))},
        'hosts_held': {
            (reason.key,): float(held[reason.key])
            for reason in holds.REASONS
            if holds.Use.PROMISE in reason.forbids
        },
    }


def _leases(session: api.Session) -> Readings:
    by_status = Counter[str]()
    waiting = Counter[str]()
    for each in rows.living(session):
        by_status[each.status] += each.number
        if each.status in states.WAITING:
            waiting[each.lease_type] += each.number
    by_status[states.Lease.ERROR] = rows.stuck(session)
    return {
        'leases': {
            (status,): float(by_status[status])
            for status in (*rows.LIVING, states.Lease.ERROR)
        },
        'leases_waiting': {
            (kind,): float(waiting[kind]) for kind in states.LeaseType
        },
        'leases_degraded': {(): float(rows.lacking(session))},
        'leases_unused': {(): float(unused.count(session))},
    }


_STEPS = {'start': states.EventType.START, 'end': states.EventType.END}


def _steps(session: api.Session, now: datetime.datetime) -> Readings:
    late: dict[Labels, float] = {}
    recent: dict[Labels, float] = {}
    for name, kind in _STEPS.items():
        found = rows.steps(session, kind, now - RECENT, now, MOST)
        seconds = sorted(
            max(((step.done_at or now) - step.due_at).total_seconds(), 0.0)
            for step in found
        )
        recent[name,] = float(len(found))
        for share in PERCENTILES:
            late[name, str(share)] = percentile(seconds, share)
    since = rows.ending_since(session)
    return {
        'steps_recent': recent,
        'lateness_seconds': late,
        'longest_end_seconds': {(): _age(since, now)},
    }


def percentile(ascending: Sequence[float], share: int) -> float:
    """Return the least number that at least this share of them do not exceed.

    :param share: per cent, from 1 on
    """
    if not ascending:
        return 0.0
    return ascending[math.ceil(len(ascending) * share / 100) - 1]


def _counters(session: api.Session) -> Readings:
    by_reason = {
        reason: refusal_counts.counter(reason)
        for reason in refusal_counts.REASONS.values()
    }
    found = rows.counted(
        session, claimed_leases.TAKEN_OVER, *by_reason.values()
    )
    return {
        'claims_taken_over_total': {
            (): float(found[claimed_leases.TAKEN_OVER])
        },
        'refusals_total': {
            (reason,): float(found[name]) for reason, name in by_reason.items()
        },
    }


def _projects(session: api.Session, now: datetime.datetime) -> Readings:
    hosts = rows.hosts_held(session, now)
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    seconds = rows.host_seconds(session, midnight, now)
    return {
        'project_host_seconds_total': {
            (project_id,): float(number)
            for project_id, number in seconds.items()
        },
        'project_hosts': {
            (project_id,): float(number)
            for project_id, number in hosts.items()
        },
    }


def _overdue(session: api.Session, now: datetime.datetime) -> Samples:
    lease, task = rows.due(session)
    return {('lease',): _age(lease, now), ('task',): _age(task, now)}


def _age(date: datetime.datetime | None, now: datetime.datetime) -> float:
    return 0.0 if date is None else max((now - date).total_seconds(), 0.0)
