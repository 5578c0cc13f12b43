# SPDX-License-Identifier: Apache-2.0
"""Servers that are created with a lease of their own: both, or neither.

Nova handles its request in the middle of ours. Before Nova creates a server in
this thread, the server is recorded with the lease.
"""

from collections.abc import Callable
import contextvars
import dataclasses
import datetime
import functools
from typing import Any

from nova.compute import api as compute_api
import nova.conf
from oslo_log import log
from oslo_serialization import jsonutils
import webob
import wrapt

from nova_reservations import exception
from nova_reservations import hooks
from nova_reservations import objects
from nova_reservations.api import validation
from nova_reservations.api.leases import creation
from nova_reservations.api.schemas import resource_types as type_schemas
from nova_reservations.api.servers import scheduler_hints
from nova_reservations.engine import assembly
from nova_reservations.engine.booking import lease_requests

CONF = nova.conf.CONF
LOG = log.getLogger(__name__)

Record = Callable[[str], None]

_record: contextvars.ContextVar[Record | None] = contextvars.ContextVar(
    'nova_reservations_record', default=None
)


@functools.cache
def install() -> None:
    """Wrap the method in which Nova's API creates a server, once per
    process."""
    wrapt.wrap_function_wrapper(
        compute_api, 'API._create_reqspec_buildreq_instmapping', _before
    )


def _before(
    wrapped: Callable[..., None], _: Any, args: Any, kwargs: Any
) -> None:
    # Nova has not begun its transaction yet.
    announce(hooks.arguments(wrapped, args, kwargs)['rs'].instance_uuid)
    wrapped(*args, **kwargs)


def announce(server_uuid: str) -> None:
    """Record the server that Nova is about to create in this thread.

    :raises: ReservationsError if Nova must not create it
    """
    record = _record.get()
    if record is not None:
        record(server_uuid)


def make(
    request: webob.Request,
    body: Any,
    ask: Callable[[Any, datetime.datetime, Any], lease_requests.NewLease],
    application: Any,
    services: assembly.Services,
) -> webob.Response:
    """Return Nova's answer to a request for servers that get a lease.

    :param body: the body of the request, as Nova would parse it
    :param ask: gets the body, the time and Nova's context; returns the lease
        that is asked for, with a reservation that no schema has checked yet
    :raises: InvalidInput, InvalidState, NotEnoughResources, Contended,
        ClocksDisagree, CloudRefused, CloudUnavailable, DatabaseUnavailable,
        PolicyNotAuthorized
    """
    now = services.clock.now()
    context = request.environ['nova.context']
    asked = _checked(ask(body, now, context), body, services)
    if not asked.by_default:
        creation.check_lease_types(
            context, {lease_requests.lease_type(asked, now)}
        )
    lease = services.server_leases.request(asked, now)
    [reservation] = lease.reservations
    scheduler_hints.put(body, scheduler_hints.LEASE, reservation.id)
    request.body = jsonutils.dump_as_bytes(body)
    return _Making(services, lease).ask(request, application)


def _checked(
    asked: lease_requests.NewLease, body: Any, services: assembly.Services
) -> lease_requests.NewLease:
    """:raises: InvalidInput"""
    kind = services.means.types.get(objects.SERVER)
    if kind is None:
        raise exception.InvalidInput(
            f'The hint "{scheduler_hints.LEASE}" can not be used here: '
            f'[reservations] resource_types does not have {objects.SERVER}'
        )
    [wanted] = asked.reservations
    type_schemas.create(kind).check(wanted.asked)
    if wanted.asked.get('guaranteed'):
        wanted = dataclasses.replace(
            wanted, asked={**wanted.asked, **_what_for(body)}
        )
    flavor = scheduler_hints.flavor(body)
    if services.access.has_flavor(asked.project_id, flavor):
        raise exception.InvalidInput(
            f'Servers of flavor {flavor} are in the lease of its reservation: '
            f'the hint "{scheduler_hints.LEASE}" asks for another lease'
        )
    return dataclasses.replace(asked, reservations=(wanted,))


def _what_for(body: Any) -> dict[str, Any]:
    """Return the flavor, the number and the zone of the servers in the body,
    which decide on their place. Errors that Nova's own schema refuses are left
    to Nova.

    :raises: InvalidInput
    """
    flavor = scheduler_hints.flavor(body)
    if flavor is None:
        raise exception.InvalidInput(
            'A guaranteed place has the size of a flavor: flavorRef is missing'
        )
    server = body['server']
    zone = server.get('availability_zone') or CONF.default_schedule_zone
    # Both are looked up in the database before Nova has checked them.
    validation.check_storable([flavor, zone])
    return {
        'flavor_id': flavor,
        'amount': max(
            _count(server.get('min_count')), _count(server.get('max_count'))
        ),
        # Administrators may give zone:host:node.
        'availability_zone': zone.partition(':')[0]
        if isinstance(zone, str)
        else None,
    }


def _count(given: Any) -> int:
    try:
        return int(given)
    except (OverflowError, TypeError, ValueError):
        return 1


class _Making:
    """:ivar refusal: why we have refused a server that Nova was to create."""

    def __init__(
        self, services: assembly.Services, lease: objects.Lease
    ) -> None:
        self._leases = services.server_leases
        self._now = services.database.now
        self._lease = lease
        self.refusal: exception.ReservationsError | None = None

    def ask(self, request: webob.Request, application: Any) -> webob.Response:
        try:
            self._leases.receive(self._lease, self._now())
            token = _record.set(self._record)
            try:
                answer = request.get_response(application)
            finally:
                _record.reset(token)
        except Exception:
            self._refuse()
            raise
        if self.refusal is None and answer.status_int < 300:
            self._accept()
        else:
            self._refuse()
        if self.refusal is not None:
            raise self.refusal
        return answer

    def _record(self, server_uuid: str) -> None:
        try:
            self._leases.record(self._lease.id, server_uuid, self._now())
        except exception.ReservationsError as error:
            # Kept, because Nova would only answer that something has failed.
            self.refusal = error
            raise

    def _accept(self) -> None:
        try:
            self._leases.accept(self._lease.id, self._now())
        except (exception.InvalidState, exception.NotFound) as error:
            self.refusal = error
            self._refuse()
        except exception.ReservationsError as error:
            # A worker will see that the servers exist, and resolve this.
            LOG.error(
                'Lease %s is not accepted yet: %s', self._lease.id, error
            )

    def _refuse(self) -> None:
        try:
            self._leases.refuse(self._lease.id, self._now())
        except exception.ReservationsError as error:
            # A worker will see that there are no servers, and resolve this.
            LOG.error('Lease %s is not deleted yet: %s', self._lease.id, error)
