# SPDX-License-Identifier: Apache-2.0
"""Checks of server actions that could break a lease: moves that bypass the
scheduler, and resizes to flavors of reservations.

The checks run where Nova's controllers call Nova's compute API. By then Nova
has checked its policy and the owner of the server. So a user who may not move
a server is answered by Nova alone, and learns nothing about leases.
"""

from collections.abc import Callable
from collections.abc import Iterator
import contextlib
import contextvars
import functools
from typing import Any

from nova import exception as nova_exception
from nova import objects as nova_objects
from nova.compute import api as compute_api
from oslo_utils import uuidutils
import webob
import webob.exc
import wrapt

from nova_reservations import exception
from nova_reservations import hooks
from nova_reservations import objects
from nova_reservations.api.servers import scheduler_hints
from nova_reservations.engine import assembly
from nova_reservations.objects import states


class _Judge:
    """The judge of the moves of one request.

    :ivar refusal: why a move was refused, if it was.
    """

    def __init__(self, services: Callable[[], assembly.Services]) -> None:
        self._services = services
        self.refusal: exception.ReservationsError | None = None

    @contextlib.contextmanager
    def services(self) -> Iterator[assembly.Services]:
        """Yield the services; an error inside of this context refuses the
        move."""
        try:
            yield self._services()
        except exception.ReservationsError as error:
            self.refusal = error
            # Nova's controllers let this exception pass, but not ours.
            raise webob.exc.HTTPConflict from error


# None if the engine itself moves servers: such moves are not checked.
_judge: contextvars.ContextVar[_Judge | None] = contextvars.ContextVar(
    'nova_reservations_judge', default=None
)


def ask(
    request: webob.Request,
    application: Any,
    services: Callable[[], assembly.Services],
) -> webob.Response:
    """Return Nova's answer to the request; moves in it are checked.

    :raises: InvalidState, CloudUnavailable, DatabaseUnavailable
    """
    judge = _Judge(services)
    token = _judge.set(judge)
    try:
        answer = request.get_response(application)
    finally:
        _judge.reset(token)
    if judge.refusal is not None:
        raise judge.refusal
    return answer


@functools.cache
def install() -> None:
    """Wrap the methods of Nova's compute API that move servers by the checks,
    once per process.

    Decision 0025: doc/source/decisions/0025-nobody-else-is-named
    """
    for method, wrapper in (
        ('live_migrate', functools.partial(_move, 'host_name')),
        ('evacuate', functools.partial(_move, 'host')),
        ('resize', _resize),
    ):
        wrapt.wrap_function_wrapper(compute_api, f'API.{method}', wrapper)


def _move(target: str, wrapped: Any, _: Any, args: Any, kwargs: Any) -> Any:
    """:param target: the argument that names a host"""
    if judge := _judge.get():
        asked = hooks.arguments(wrapped, args, kwargs)
        _check_forced(judge, asked, asked[target])
    return wrapped(*args, **kwargs)


def _check_forced(
    judge: _Judge, asked: dict[str, Any], target: str | None
) -> None:
    """Refuse moves that bypass the scheduler, of leased servers, and of any
    servers from or to hosts of the pool."""
    # ``force`` is False if the scheduler is to check the host. Older
    # microversions do not have it, and never check the host that they name.
    if not target or asked['force'] is False:
        return
    instance = asked['instance']
    with judge.services() as services:
        if services.hosts.is_enrolled(target):
            raise _refusal(instance, f'host {target} can be leased')
        if instance.host and services.hosts.is_enrolled(instance.host):
            raise _refusal(instance, 'it is on a host that can be leased')
        lease = _lease_of(asked, services)
        if lease is not None:
            raise _refusal(instance, f'it is in lease {lease.lease_id}')


def _resize(wrapped: Any, _: Any, args: Any, kwargs: Any) -> Any:
    judge = _judge.get()
    if judge is None:
        return wrapped(*args, **kwargs)
    asked = hooks.arguments(wrapped, args, kwargs)
    flavor_id = asked['flavor_id']
    if flavor_id is None:
        # A cold migration, which the scheduler checks.
        return wrapped(*args, **kwargs)
    with judge.services() as services:
        hidden = _is_of_others(flavor_id, asked, services)
        if not hidden:
            _check_resize(flavor_id, asked, services)
    if not hidden:
        return wrapped(*args, **kwargs)
    # At a resize Nova does not check who may use the flavor. To hide the
    # flavor, let Nova itself answer about one that does not exist: its answer
    # depends on the server, too.
    missing = {'flavor_id': uuidutils.generate_uuid()}
    try:
        return wrapped(**asked | missing)
    except nova_exception.FlavorNotFound:
        raise nova_exception.FlavorNotFound(flavor_id=flavor_id) from None


def _is_of_others(
    flavor_id: str, asked: dict[str, Any], services: assembly.Services
) -> bool:
    """Return whether the flavor is that of a reservation that the server's
    project may not use."""
    access = _access(flavor_id, services)
    return access is not None and not access.is_for(
        asked['instance'].project_id
    )


def _check_resize(
    flavor_id: str, asked: dict[str, Any], services: assembly.Services
) -> None:
    """Refuse a flavor that does not fit into the server's guaranteed place,
    and the flavor of a reservation that the server can't join.

    :raises: InvalidState
    """
    server_id = asked['instance'].uuid
    services.server_leases.check_resize(server_id, flavor_id)
    access = _access(flavor_id, services)
    if access is None:
        return
    if not access.lets_in and services.short_waits.for_start(flavor_id):
        access = _access(flavor_id, services) or access
    if not access.lets_in:
        raise exception.InvalidState(
            kind='Lease',
            id=access.lease_id,
            status=access.status,
            reason='servers can be resized to its flavor only while it is '
            'ACTIVE',
        )
    lease = _lease_of(asked, services)
    if lease is not None and lease.reservation_id != flavor_id:
        raise exception.InvalidState(
            kind='Server',
            id=server_id,
            status=f'in lease {lease.lease_id}',
            reason='a server can be in one reservation only',
        )


def _lease_of(
    asked: dict[str, Any], services: assembly.Services
) -> objects.Access | None:
    """Return the reservation that the server was created in, if its lease is
    not over."""
    instance = asked['instance']
    try:
        spec = nova_objects.RequestSpec.get_by_instance_uuid(
            asked['context'], instance.uuid
        )
    except nova_exception.RequestSpecNotFound:
        # Nova will refuse the request itself.
        return None
    access = _access(
        spec.get_scheduler_hint(scheduler_hints.RESERVATION), services
    )
    if (
        access is not None
        and access.may_have(instance.project_id)
        and access.status in states.OPEN
    ):
        return access
    return None


def _access(
    reservation_id: Any, services: assembly.Services
) -> objects.Access | None:
    # A server that is older than this check may have any text as its hint.
    if not objects.is_id(reservation_id):
        return None
    return services.access.find(reservation_id)


def _refusal(
    instance: nova_objects.Instance, reason: str
) -> exception.InvalidState:
    return exception.InvalidState(
        kind='Server',
        id=instance.uuid,
        status='not to be moved by force',
        reason=f'{reason}; use a microversion and arguments by which the '
        'scheduler is asked',
    )
