# SPDX-License-Identifier: Apache-2.0
"""Asks plugins that must allow a lease, and shows them what it would get.

Nothing is written, and no transaction is open while plugins are asked: the
resources that they have seen may be taken by the time of the booking.

Decision 0039: doc/source/decisions/0039-limits-in-the-booking
"""

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import datetime
import functools
from typing import Any

from oslo_log import log

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.db import api
from nova_reservations.db.holdings import allocations as allocations_db
from nova_reservations.db.resources import hosts as hosts_db
from nova_reservations.engine import notifications
from nova_reservations.engine.booking import allocations
from nova_reservations.engine.booking import lease_requests
from nova_reservations.engine.leases import lease_changes
from nova_reservations.objects import states
from nova_reservations.plugins.enforcement import base

LOG = log.getLogger(__name__)

Later = Callable[[Callable[[], None]], None]
"""Takes a call that is made soon, without the caller waiting for it."""

_ENDS = frozenset(
    {
        notifications.event(states.EventType.END),
        notifications.failed(states.EventType.START),
        notifications.TIMEDOUT,
        notifications.DELETE,
    }
)
"""Notifications that a lease has ended, or will never begin."""


@dataclasses.dataclass(eq=False)
class Enforcement:
    database: api.Database
    plugins: Sequence[base.Enforcement]
    plans: allocations.Allocations
    change_writer: lease_changes.ChangeWriter

    def check_new(self, lease: objects.Lease, now: datetime.datetime) -> None:
        """Check a new lease before it is written.

        :raises: OverLimit, CloudUnavailable, InvalidInput
        """
        if not self.plugins or lease.by_default:
            return
        with self.database.reader() as session:
            planned = self._planned(session, lease, now, allocations.Terms())
        for plugin in self.plugins:
            plugin.check_create(planned)

    def check_changed(
        self,
        get: Callable[[], objects.Lease],
        changes: lease_requests.LeaseChanges,
        now: datetime.datetime,
    ) -> None:
        """Check a change before it is written.

        :param get: returns the lease
        :raises: OverLimit, CloudUnavailable, NotFound, InvalidInput,
            InvalidState
        """
        if not self.plugins or changes.only_rename:
            return
        seen = get()
        lease, changed = self.change_writer.asked(seen, changes, now)
        with self.database.reader() as session:
            held = self.change_writer.kept(session, seen)
            current = base.Planned(seen, _hosts(session, held))
            planned = self._planned(
                session,
                lease,
                now,
                allocations.Terms(held=held, recheck=changed),
            )
        for plugin in self.plugins:
            plugin.check_update(current, planned)

    def _planned(
        self,
        session: api.Session,
        lease: objects.Lease,
        now: datetime.datetime,
        terms: allocations.Terms,
    ) -> base.Planned:
        """Return the lease with what it would get. If there is not enough, it
        gets nothing new here; the booking then refuses it, or lets it wait."""
        slots: Mapping[str, Collection[int]] = terms.held
        if lease.status not in states.WAITING:
            try:
                planned = self.plans.plan(
                    session,
                    lease,
                    now,
                    allocations.Terms(
                        held=terms.held,
                        recheck=terms.recheck,
                        moves_promises=True,
                    ),
                    explain=False,
                )
                slots = planned.slots if planned else {}
            except (exception.NotEnoughResources, exception.Conflict):
                pass
        return base.Planned(lease, _hosts(session, slots))

    # The end

    def with_ends(
        self, notify: ports.Notifier, later: Later
    ) -> ports.Notifier:
        """Return a notifier that also tells the plugins of leases that have
        ended."""
        if not self.plugins:
            return notify

        def tell(event_type: str, payload: Mapping[str, Any]) -> None:
            notify(event_type, payload)
            if event_type in _ENDS and not (
                # The plugins were told when the lease ended.
                event_type == notifications.DELETE
                and payload['status'] in states.OVER
            ):
                later(functools.partial(self._ended, payload))

        return tell

    def _ended(self, payload: Mapping[str, Any]) -> None:
        hosts: Mapping[str, Sequence[objects.Host]] = {}
        try:
            with self.database.reader() as session:
                hosts = _hosts(
                    session, _had(session, str(payload['lease_id']))
                )
        except exception.DatabaseUnavailable as error:
            LOG.warning('The hosts of a lease are not known: %s', error)
        for plugin in self.plugins:
            try:
                plugin.on_end(payload, hosts)
            except Exception:
                LOG.exception(
                    'Enforcement is not told that lease %s is over',
                    payload['lease_id'],
                )


def _had(session: api.Session, lease_id: str) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for each in allocations_db.find(session, objects.HOST, lease_id=lease_id):
        found.setdefault(each.reservation_id, []).append(each.resource_id)
    return found


def _hosts(
    session: api.Session, ids: Mapping[str, Collection[int]]
) -> dict[str, list[objects.Host]]:
    """Return reservation id -> its hosts, in place of their ids."""
    every = sorted({key for some in ids.values() for key in some})
    known = {host.id: host for host in hosts_db.get_all(session, every)}
    return {
        reservation_id: [known[key] for key in sorted(some) if key in known]
        for reservation_id, some in ids.items()
    }
