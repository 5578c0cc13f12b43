# SPDX-License-Identifier: Apache-2.0
"""Leases that a new server names in place of a reservation: by the ID of the
lease or of its series, or by its name.

Nova gets to know the reservation, so that scheduling, and each later move of
the server, see the same as if it had been named.

Decision 0042: doc/source/decisions/0042-shared-by-name
"""

from collections.abc import Sequence
import dataclasses

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.db import api
from nova_reservations.db.leases import named_leases
from nova_reservations.engine import resource_types
from nova_reservations.objects import states


@dataclasses.dataclass(eq=False)
class NamedLeases:
    database: api.Database
    types: resource_types.Types

    def reservation(
        self, given: str, project_id: str, flavor: str | None
    ) -> str:
        """Return the id of the one reservation that is meant.

        It need not let servers in now: of a series whose leases do not, it is
        one of the lease that is next.

        :param given: the id of a lease or of a series that the project has, or
            that is shared with it; or the name of a lease of its own
        :param flavor: that of the server: if it is of one of several
            reservations, that one is meant
        :raises: NotFound, InvalidInput
        """
        kinds = [name for name, kind in self.types.items() if kind.shareable]
        with self.database.causal_reader() as session:
            if objects.is_id(given):
                what = 'Lease or reservation of hosts or slots'
                found = named_leases.by_id(session, given, project_id, kinds)
            else:
                what = 'Lease of hosts or slots'
                found = named_leases.by_name(session, given, project_id, kinds)
        if not found:
            raise exception.NotFound(kind=what, id=given)
        return _only(given, _meant(given, found), flavor)


def _meant(
    given: str, found: Sequence[objects.Named]
) -> Sequence[objects.Named]:
    """Return those of the one lease that is meant, or of several that let
    servers in.

    :param found: in the order of their start
    :raises: InvalidInput
    """
    lease_ids = list(dict.fromkeys(each.lease_id for each in found))
    if len(lease_ids) == 1:
        return found
    if len({each.series_id for each in found}) > 1 or not found[0].series_id:
        raise exception.InvalidInput(
            f'{len(lease_ids)} leases have the name {given}: give the ID of '
            f'one: {objects.few(lease_ids, 10)}'
        )
    if now := [each for each in found if each.lets_in]:
        return now
    coming = [each for each in found if each.status in states.LIVE]
    nearest = coming[0] if coming else found[-1]
    return [each for each in found if each.lease_id == nearest.lease_id]


def _only(
    given: str, found: Sequence[objects.Named], flavor: str | None
) -> str:
    """:raises: InvalidInput"""
    ids = [each.reservation_id for each in found]
    if flavor in ids:
        return flavor
    if len(ids) > 1:
        listed = [
            f'{each.reservation_id} ({each.resource_type})' for each in found
        ]
        raise exception.InvalidInput(
            f'{given} has several reservations in which servers can land: '
            f'give the ID of one: {objects.few(listed, 10)}'
        )
    return ids[0]
