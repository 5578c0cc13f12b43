# SPDX-License-Identifier: Apache-2.0
"""Booking: the reservations of a lease get resources, all of them or none.

Everything joins the caller's transaction. What is free is read together with
the generations of the resources; they are compared and set before anything
is written, so that no two leases get the same.
"""

from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
import datetime
import zlib

from oslo_log import log

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.db import allocations
from nova_reservations.db import api
from nova_reservations.db import candidates
from nova_reservations.engine import queue
from nova_reservations.engine import resource_types
from nova_reservations.engine import settings
from nova_reservations.engine import shares as sharing_engine
from nova_reservations.objects import demand as demands
from nova_reservations.objects import interval
from nova_reservations.planner import plan as mixture
from nova_reservations.planner import shares as sharing
from nova_reservations.planner import whole

LOG = log.getLogger(__name__)


class Allocations:
    def __init__(
        self, types: resource_types.Types, options: settings.Settings
    ) -> None:
        self.types = types
        self.options = options

    def book(
        self,
        session: api.Session,
        lease: objects.Lease,
        now: datetime.datetime,
        held: Mapping[str, Collection[int]] | None = None,
        recheck: Collection[str] = (),
        best_fit: bool = True,
        among: Mapping[str, Collection[int]] | None = None,
    ) -> None:
        """Plan the lease's reservations together, and write what they get in
        the caller's transaction.

        What those could have whose turn it is is not for this lease.

        :param held: reservation id -> what it has already, at another
            window or demand; all of it stays if servers may be there
        :param recheck: reservations whose resources must meet the
            requirements anew
        :param best_fit: whether to book what fits best
        :param among: reservation id -> ids of all that it may have, of one
            whose turn it is; None: whatever there is
        :raises: Conflict, NotEnoughResources, InvalidInput
        """
        demanded = {
            item.id: demand
            for item in lease.reservations
            if (demand := resource_types.demand(self.types, item)) is not None
        }
        if not demanded:
            return
        first = queue.in_hand(session, lease, now) if among is None else []
        rivals = [
            demand
            for other in first
            for demand in resource_types.asks(self.types, other)
        ]
        try:
            self._book(
                session,
                lease,
                now,
                demanded,
                rivals,
                held,
                recheck,
                best_fit,
                among or {},
            )
        except exception.NotEnoughResources as refusal:
            raise queue.refusal(refusal, lease, first) from refusal

    def _book(
        self,
        session: api.Session,
        lease: objects.Lease,
        now: datetime.datetime,
        demanded: Mapping[str, demands.Ask],
        rivals: Sequence[demands.Ask],
        held: Mapping[str, Collection[int]] | None,
        recheck: Collection[str],
        best_fit: bool,
        among: Mapping[str, Collection[int]],
    ) -> None:
        held = held or {}
        slots = allocations.slots(session, list(held)) if held else {}
        only_add = lease.is_used
        windows = {
            item.id: resource_types.window(self.types, lease, item)
            for item in lease.reservations
        }
        wholes: dict[str, whole.Ask] = {}
        shares: dict[str, sharing.Ask] = {}
        for reservation_id, demand in demanded.items():
            recheck_this = not held or reservation_id in recheck
            # As many more as its siblings may take of the same.
            others = sum(
                other.maximum
                for key, other in demanded.items()
                if key != reservation_id
            )
            self._check_keys(session, demand)
            left = queue.left_over(demand, rivals)
            if isinstance(left, demands.Share):
                shares[reservation_id] = sharing_engine.ask(
                    session,
                    left,
                    windows[reservation_id],
                    now,
                    cleaning=self.options.cleaning_time,
                    random_start=zlib.crc32(lease.id.encode()) >> 1,
                    best_fit=best_fit,
                    others=others,
                    held=slots.get(reservation_id, {}),
                    recheck=recheck_this,
                    only_add=only_add,
                    ignore=list(demanded),
                    among=among.get(reservation_id),
                )
            else:
                wholes[reservation_id] = self._ask(
                    session,
                    lease,
                    left,
                    windows[reservation_id],
                    now,
                    held.get(reservation_id, ()),
                    siblings=others,
                    recheck=recheck_this,
                    only_add=only_add,
                    among=among.get(reservation_id),
                )
        plan = mixture.assign(
            list(wholes.values()), list(shares.values()), lease.id, best_fit
        )
        if isinstance(plan, whole.TooFew):
            raise self._refusal(
                session,
                lease,
                list(wholes.values()),
                plan.ask,
                windows[list(wholes)[plan.ask]],
                now,
            )
        if isinstance(plan, sharing.TooFew):
            raise sharing_engine.refusal(
                session,
                list(shares.values())[plan.ask],
                siblings=len(demanded) - 1,
            )
        # The guard of booking: it fails if another writer has booked any of
        # these since they were read. Nothing is written before it.
        # Decision 0002: doc/source/decisions/0002-resources-and-generations
        allocations.advance(
            session, mixture.generations(plan, list(shares.values()))
        )
        # All of it before any: one may get what another has had.
        for reservation_id, resource_ids in held.items():
            allocations.delete(session, reservation_id, resource_ids)
        for reservation_id, chosen in zip(wholes, plan.wholes, strict=True):
            resource_ids = [candidate.resource.id for candidate in chosen]
            if held:
                # Or what itself had to leave.
                allocations.delete(session, reservation_id, resource_ids)
            allocations.insert(
                session,
                reservation_id,
                resource_ids,
                windows[reservation_id],
            )
        for (reservation_id, ask), given in zip(
            shares.items(), plan.shares, strict=True
        ):
            if held:
                allocations.delete(session, reservation_id, given)
            allocations.insert_shares(
                session,
                reservation_id,
                given,
                ask.share.amounts,
                windows[reservation_id],
            )

    def _check_keys(self, session: api.Session, demand: demands.Ask) -> None:
        """:raises: InvalidInput for a property that no host has"""
        unknown = candidates.unknown_keys(session, demand.requirements)
        if unknown:
            raise exception.InvalidInput(
                'Malformed requirements: no host has a property '
                f'{", ".join(unknown)}; "os-hosts/properties" lists those '
                'that there are'
            )

    def _ask(
        self,
        session: api.Session,
        lease: objects.Lease,
        demand: demands.Demand,
        window: interval.Interval,
        now: datetime.datetime,
        held: Collection[int],
        *,
        siblings: int,
        recheck: bool,
        only_add: bool,
        among: Collection[int] | None,
    ) -> whole.Ask:
        found = candidates.find(
            session,
            demand,
            window.padded(self.options.cleaning_time),
            now,
            page=candidates.PAGE + siblings,
            random_start=zlib.crc32(lease.id.encode()) >> 1,
            keep=held,
            recheck=recheck,
            ignore=[item.id for item in lease.reservations],
            among=among,
        )
        return whole.Ask(found, demand, held if only_add else ())

    def _refusal(
        self,
        session: api.Session,
        lease: objects.Lease,
        asks: Sequence[whole.Ask],
        refused: int,
        window: interval.Interval,
        now: datetime.datetime,
    ) -> exception.NotEnoughResources:
        ask = asks[refused]
        shortage = candidates.shortage(
            session,
            ask.demand,
            window.padded(self.options.cleaning_time),
            now,
            ignore=[item.id for item in lease.reservations],
        )
        reason = (
            f'{shortage.matching} hosts match, {shortage.taken} are taken '
            f'in this window, {ask.demand.minimum} wanted'
        )
        if len(asks) > 1:
            others = sum(one.demand.minimum for one in asks)
            reason += (
                f', and {others - ask.demand.minimum} by other reservations '
                'of the lease'
            )
        if ask.must_keep:
            reason += (
                ', and an active lease keeps the '
                f'{len(ask.must_keep)} that it has'
            )
        LOG.info(
            'Lease %(id)s is refused: %(reason)s',
            {'id': lease.id, 'reason': reason},
        )
        return exception.NotEnoughResources(reason=reason)
