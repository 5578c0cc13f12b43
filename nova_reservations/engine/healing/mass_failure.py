# SPDX-License-Identifier: Apache-2.0
"""Mass failures: many resources of a cell that fail at once.

Most likely a switch or a message bus has failed. Nothing is moved until an
administrator has looked, or most of the resources are back.

Decision 0019: doc/source/decisions/0019-disabled-is-no-failure
"""

from collections.abc import Collection
from collections.abc import Mapping
import dataclasses
import datetime

from oslo_log import log

from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.db import api
from nova_reservations.db import tasks
from nova_reservations.db.holdings import healing
from nova_reservations.db.resources import conditions
from nova_reservations.engine import notifications
from nova_reservations.engine import settings
from nova_reservations.engine import transactions
from nova_reservations.planner import failures

LOG = log.getLogger(__name__)


@dataclasses.dataclass(frozen=True, slots=True)
class Told:
    """:ivar names: names of the resources that are not healed.

    :ivar size: how many resources the domain has.
    """

    domain: str
    names: tuple[str, ...]
    size: int


@dataclasses.dataclass(frozen=True, slots=True)
class Verdict:
    """:ivar told: new mass failures, which nobody was told of yet.

    :ivar released: whether resources were released for healing.
    """

    told: tuple[Told, ...]
    released: bool


def apply(
    session: api.Session,
    resource_type: str,
    domain_of: Mapping[str, str],
    back: Collection[str],
    options: settings.Settings,
    now: datetime.datetime,
) -> Verdict:
    """Stop the healing of failed resources as long as too many have failed at
    once.

    Joins the caller's transaction, which has written the conditions.

    :param back: names of resources that the transaction found working again
    """
    known = conditions.known(session, resource_type)
    coming = {domain_of.get(name, '') for name in back}
    members = [_member(row, domain_of, coming, now) for row in known]
    names = {row.resource.id: row.resource.name for row in known}
    masses = failures.masses(members, options.heal_limit, now)
    braked = {member.id for member in members if member.braked_at is not None}
    stays = {member.id for member in members if member.braked_at == now}
    calm = failures.calmed(members, masses, now, options.down_after)
    anew = {
        resource_id for mass in masses for resource_id in mass.failed
    } - braked
    conditions.set_brake(session, (anew | stays) - calm, now)
    conditions.set_brake(session, calm, None)
    return Verdict(
        tuple(
            Told(
                mass.domain,
                tuple(
                    sorted(names[resource_id] for resource_id in mass.failed)
                ),
                mass.size,
            )
            for mass in masses
            if mass.failed & anew
        ),
        released=bool(calm),
    )


def _member(
    row: conditions.KnownResource,
    domain_of: Mapping[str, str],
    coming: Collection[str],
    now: datetime.datetime,
) -> failures.Member:
    domain = domain_of.get(row.resource.name, '')
    braked_at = row.braked_at
    if braked_at is not None and domain in coming:
        # Others of its domain come back, so this one may come back, too: wait
        # for it anew.
        braked_at = now
    return failures.Member(
        row.resource.id, domain, row.condition, braked_at, row.brake_off
    )


def tell(resource_type: str, told: Told, notify: ports.Notifier) -> None:
    LOG.error(
        '%(failed)d of %(size)d resources of type %(type)s in %(domain)s have '
        'failed at once, more than [reservations] heal_limit: nothing is '
        'moved. If they are really lost, say so by "nova-reservations-manage '
        'heal": %(names)s',
        {
            'failed': len(told.names),
            'size': told.size,
            'type': resource_type,
            'domain': _where(resource_type, told.domain),
            'names': ', '.join(told.names),
        },
    )
    notify(
        notifications.MASS_FAILURE,
        {
            'resource_type': resource_type,
            'domain': told.domain,
            'failed': list(told.names),
            'resources': told.size,
        },
    )


def _where(resource_type: str, domain: str) -> str:
    if not domain:
        return 'the cloud'
    return f'cell {domain}' if resource_type == objects.HOST else domain


def release(
    database: api.Database,
    resource_type: str,
    names: Collection[str],
    now: datetime.datetime,
) -> list[str]:
    """Release the brake of these resources, so that their leases are healed;
    return their names.

    :param names: their names; empty: all that have the brake
    :raises: Contended, DatabaseUnavailable
    """

    def let_go(session: api.Session) -> list[str]:
        released = [
            row.resource
            for row in conditions.known(session, resource_type, names or None)
            if row.braked_at is not None
        ]
        conditions.set_brake(
            session, [resource.id for resource in released], None, off=True
        )
        if released:
            tasks.hurry(session, healing.HEAL, now)
        return sorted(resource.name for resource in released)

    return transactions.write(database, let_go)
