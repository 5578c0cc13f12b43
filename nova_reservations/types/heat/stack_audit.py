# SPDX-License-Identifier: Apache-2.0
"""Audit of stacks in Heat: stacks that leases have left behind, and stacks
that leases should have."""

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterator
import functools

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.db.upkeep import records
from nova_reservations.objects import states
from nova_reservations.types.audited import Finding
from nova_reservations.types.heat import token_checks

STACK = 'virtual:stack'


class StackAudit:
    """:param is_kept: returns whether the stack of a reservation that was
    started is to stay when that is over
    """

    def __init__(
        self,
        stacks: ports.Stacks,
        known: records.Records,
        is_kept: Callable[[objects.Reservation], bool],
    ) -> None:
        self.stacks = stacks
        self.known = known
        self.is_kept = is_kept

    def findings(self) -> Iterator[Finding]:
        """Yield findings in all projects that have, or had, leases of stacks;
        if there are none, Heat is not asked.

        :raises: CloudUnavailable
        """
        for project_id in self.known.projects(STACK):
            before = self.known.active(STACK, project_id)
            try:
                found = self.stacks.find_marked(project_id)
                lacking = self._lacking(before, found, project_id)
            except exception.CloudRefused as error:
                yield Finding(
                    f'Stacks of leases of project {project_id} can not be '
                    f'looked at, nor ended: {error}'
                )
                continue
            # Leases may have started or ended while Heat was asked.
            active = before & self.known.active(STACK, project_id)
            yield from self._of_active(active, lacking, found)
            yield from self._of_leftovers(found)

    def _lacking(
        self,
        active: Collection[tuple[str, str]],
        found: Collection[ports.Stack],
        project_id: str,
    ) -> set[str]:
        """Return the reservations whose stack is not in Heat, with or without
        its tags: an owner's update that names no tags removes them.

        :raises: CloudRefused, CloudUnavailable
        """
        known = {each.reservation_id for each in found}
        return {
            reservation_id
            for reservation_id, _ in active
            if reservation_id not in known
            and self.stacks.find(reservation_id, project_id) is None
        }

    def _of_active(
        self,
        active: Collection[tuple[str, str]],
        lacking: Collection[str],
        found: Collection[ports.Stack],
    ) -> Iterator[Finding]:
        known = {each.reservation_id: each for each in found}
        for reservation_id, lease_id in sorted(active):
            stack = known.get(reservation_id)
            if reservation_id in lacking:
                yield Finding(
                    f'Lease {lease_id} is active, and the stack of its '
                    f'reservation {reservation_id} is gone from Heat: its '
                    'owner has deleted it, or somebody else; the lease holds '
                    'its places until it is deleted too'
                )
            elif stack is not None and stack.status == 'FAILED':
                yield Finding(
                    f'Lease {lease_id} is active, and its stack {stack.id} is '
                    f'{stack.state} in Heat: {stack.reason}'
                )

    def _of_leftovers(
        self, found: Collection[ports.Stack]
    ) -> Iterator[Finding]:
        ids = {str(each.reservation_id) for each in found}
        known = {
            item.id: (lease, item)
            for lease in self.known.leases_of(ids)
            for item in lease.reservations
        }
        for stack in found:
            if stack.action == 'DELETE' and stack.status != 'FAILED':
                continue
            told = (
                f'Stack {stack.id} of project {stack.project_id} is of '
                f'reservation {stack.reservation_id}'
            )
            if str(stack.reservation_id) in known:
                lease, item = known[str(stack.reservation_id)]
                if (
                    lease.status in states.OVER
                    and not lease.in_nova
                    and not self._stays(item)
                ):
                    yield Finding(
                        f'{told}, whose lease is over',
                        functools.partial(self._delete, stack),
                    )
            elif stack.database == self.known.ours:
                yield Finding(
                    f'{told}, whose lease is deleted: delete it, unless the '
                    'lease was to leave it there'
                )

    def _delete(self, stack: ports.Stack) -> None:
        """:raises: CloudRefused, CloudUnavailable"""
        token_checks.check(self.stacks, stack.project_id)
        self.stacks.delete(stack, check=lambda: None)

    def _stays(self, item: objects.Reservation) -> bool:
        """Return whether a stack was to stay at the end of its lease. It never
        is if the start of the lease has failed."""
        return item.status == states.Reservation.DELETED and self.is_kept(item)
