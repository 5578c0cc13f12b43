# SPDX-License-Identifier: Apache-2.0
"""The reasons why whole hosts are not free yet, in words for the owner of the
lease and for administrators."""

from collections.abc import Mapping

from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.types import base


def reasons(
    occupancies: Mapping[str, ports.Occupancy],
    told: Mapping[str, objects.Reason],
    booking: base.Booking,
) -> list[objects.Reason]:
    """Return the reasons why the hosts are not free.

    :param told: server UUID -> what becomes of the server; only of those that
        the reservation let in
    """
    found = []
    for host, occupancy in sorted(occupancies.items()):
        for server in occupancy.servers:
            if server.uuid in told:
                found.append(
                    _leaving(
                        server, told[server.uuid], booking.lease.project_id
                    )
                )
            else:
                found.append(_stranger(server, booking.lease.project_id))
        found += [
            objects.Reason(
                'placement holds an allocation of somebody else on host '
                f'{host}: an administrator has to look at it',
                f'placement holds an allocation of {consumer} on host {host}',
            )
            for consumer in occupancy.leftovers
        ]
    return found


def _named(server: ports.Server, what: str) -> str:
    where = f' on host {server.host}' if server.host else ''
    return f'server {server.uuid} ({server.condition}){where} {what}'


def _leaving(
    server: ports.Server, what: objects.Reason, project_id: str
) -> objects.Reason:
    if server.project_id == project_id:
        return what.after(_named(server, ''))
    return objects.Reason(
        f'a server of a project that it is shared with {what.told}',
        f'{_named(server, what.whole)}; it is of project {server.project_id}',
    )


def _stranger(server: ports.Server, project_id: str) -> objects.Reason:
    """Return the reason for a server that the reservation has not let in."""
    if server.project_id == project_id:
        return objects.Reason.plain(
            _named(
                server,
                'was not created in this reservation: move or delete it',
            )
        )
    return objects.Reason(
        'a server that is not of this reservation is on host '
        f'{server.host}: an administrator has to move it',
        f'server {server.uuid} of project {server.project_id} is on host '
        f'{server.host}: move or delete it',
    )
