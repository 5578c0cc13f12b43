# SPDX-License-Identifier: Apache-2.0
"""Requests to Nova to change servers, many at once.

They use Nova's own compute API in an administrator's context, so that locks on
servers do not matter. They do not wait until Nova is done.
"""

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Mapping
import dataclasses
import datetime
import functools
import threading
import time

from keystoneauth1 import exceptions as ks_exc
from nova import context as nova_context
from nova import exception as nova_exception
from nova import objects as nova_objects
from nova.compute import api
from oslo_db import exception as db_exc
from oslo_log import log
import oslo_messaging
from sqlalchemy import exc as sa_exc

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.cloud import parallel
from nova_reservations.cloud.servers import failures
from nova_reservations.cloud.servers import images
from nova_reservations.ports import fences

LOG = log.getLogger(__name__)


LOOK = datetime.timedelta(seconds=1)
"""For so long the state of a host's nova-compute is cached."""

Clock = Callable[[], datetime.datetime]


UNANSWERED = (
    ks_exc.ConnectionError,
    nova_exception.CinderConnectionFailed,
    nova_exception.GlanceConnectionFailed,
    oslo_messaging.MessageDeliveryFailure,
    oslo_messaging.MessagingTimeout,
    db_exc.DBConnectionError,
    sa_exc.TimeoutError,
)
"""Errors which mean that something that Nova asks did not answer in time. They
say nothing of whether it was done."""


Answer = str | objects.Reason | None
"""What a server waits for, or why it is refused; a text is one that its owner
may read, too."""


class Failed(Exception):
    """An action has failed for good."""

    def __init__(self, why: str | objects.Reason) -> None:
        super().__init__(str(why))
        self.why = _read(why)


class Nova:
    """Nova's compute API, with checks whether a server can be changed now."""

    def __init__(self, hosts: ports.Hosts) -> None:
        self._hosts = hosts
        self._seen: dict[
            str, tuple[datetime.datetime, ports.ComputeService | None]
        ] = {}
        """Host -> when it was read last, and its nova-compute, which is None
        if the cell did not answer."""
        self._asking: dict[str, threading.Lock] = {}
        """One for each host: whose cell hangs delays no other host."""

    def get(
        self, context: nova_context.RequestContext, uuid: str
    ) -> nova_objects.Instance:
        """Return the server; the context is targeted to its cell."""
        return self._api.get(
            context,
            uuid,
            expected_attrs=[
                'flavor',
                'info_cache',
                'metadata',
                'numa_topology',
                'pci_requests',
                'system_metadata',
            ],
        )

    def busy(
        self, instance: nova_objects.Instance, now: datetime.datetime
    ) -> str | None:
        """Return why the server can't be changed now; None if it can."""
        if instance.task_state is not None:
            return f'it is still {instance.task_state}'
        if not instance.host:
            return 'it has no host yet'
        # A host that is down never handles the request, and the server would
        # be stuck in its task state.
        if not self.host_is_up(instance.host, now):
            return 'its host is down'
        return None

    def host_is_up(self, host: str, now: datetime.datetime) -> bool:
        service = self._look(host, now)
        return service is not None and service.is_heard

    def host_is_silent(self, host: str, now: datetime.datetime) -> bool:
        """Return whether guests may still run on the host, while nobody can
        tell."""
        service = self._look(host, now)
        return service is None or service.is_silent

    def _look(
        self, host: str, now: datetime.datetime
    ) -> ports.ComputeService | None:
        """Return the host's nova-compute, from the cache if it was just read:
        for all servers of a host that are changed together, it is read once.
        """
        with self._asking.setdefault(host, threading.Lock()):
            asked_at, service = self._seen.get(host, (None, None))
            if asked_at is None or abs(now - asked_at) >= LOOK:
                service = self._hosts.compute_services(now, [host]).get(host)
                self._seen[host] = now, service
        return service

    @property
    def compute_api(self) -> api.API:
        """Nova's compute API, for one change of a server.

        :raises: ClaimLost, AttemptLost if others do the thread's work: what it
            has read may have taken long
        """
        fences.current()()
        return self._api

    def deletions(self, keeps_image: bool) -> api.API:
        """Return Nova's compute API, for one deletion.

        :param keeps_image: whether the image of a shelved server stays
        :raises: ClaimLost, AttemptLost
        """
        fences.current()()
        return (
            self._deletions_keeping_images if keeps_image else self._deletions
        )

    @functools.cached_property
    def _api(self) -> api.API:
        return api.API(image_api=images.Images())

    @functools.cached_property
    def _deletions(self) -> api.API:
        return _deleting(images.Images())

    @functools.cached_property
    def _deletions_keeping_images(self) -> api.API:
        return _deleting(images.Kept())


class _Fenced:
    """Replaces Nova's service group for deletions: a host counts as down only
    if it is forced down, and not because it has not reported in time.

    Nova checks the host again after us. If it finds that the host has not
    reported, it would delete the server in the database only.
    """

    @staticmethod
    def service_is_up(service: nova_objects.Service) -> bool:
        return not service.forced_down


def _deleting(image_api: images.Images) -> api.API:
    compute_api = api.API(image_api=image_api)
    compute_api.servicegroup_api = _Fenced()
    return compute_api


@dataclasses.dataclass(frozen=True, slots=True)
class Request:
    """A request to Nova for several servers.

    :ivar key: the key with which each server is asked for once.
    :ivar hosts: the hosts that the servers are to leave, if any.
    :ivar clock: returns the time for the check whether hosts are up; None:
        use Nova's own clock.
    """

    key: ports.RequestKey
    hosts: frozenset[str]
    clock: Clock


Step = Callable[[Request, str], Answer]
"""Asks Nova to change the server with this UUID. Returns what the server waits
for, or why Nova refuses; raises Failed if waiting is of no use."""


def running(now: datetime.datetime) -> Clock:
    """Return a clock that starts at this time.

    Requests for many servers take long, and a host may fail meanwhile.
    """
    begun = time.monotonic()

    def clock() -> datetime.datetime:
        passed = datetime.timedelta(seconds=time.monotonic() - begun)
        return now + passed

    return clock


def awaited(
    step: Step, servers: Collection[ports.Server], order: ports.Order
) -> ports.Outcome:
    """Ask Nova to change servers; return which of them wait, and which have
    failed."""
    request = Request(
        order.key,
        frozenset(server.host for server in servers),
        running(order.now),
    )
    return each(functools.partial(step, request), servers, order.check)


def asked(
    step: Step, servers: Collection[ports.Server], order: ports.Order
) -> Mapping[str, objects.Reason]:
    """Ask Nova to change servers; return the reasons why some of them are not
    changed."""
    return reasons(awaited(step, servers, order))


def reasons(outcome: ports.Outcome) -> Mapping[str, objects.Reason]:
    """Return server UUID -> why the server waits, or has failed."""
    return {**outcome.waiting, **outcome.failed}


def each(
    function: Callable[[str], Answer],
    servers: Collection[ports.Server],
    check: ports.Check,
) -> ports.Outcome:
    """Call function with each server's UUID; it returns what the server
    waits for, and raises an error if waiting is of no use.

    An error of one server does not hold up the others.
    """
    waiting: dict[str, objects.Reason] = {}
    failed: dict[str, objects.Reason] = {}

    def ask(uuid: str) -> None:
        check()
        try:
            with fences.around(check):
                reason = function(uuid)
        except nova_exception.InstanceNotFound:
            return
        except Failed as error:
            failed[uuid] = error.why
        except exception.ReservationsError:
            raise
        except UNANSWERED as error:
            LOG.warning(
                'Server %(server)s waits for an answer: %(error)s',
                {'server': uuid, 'error': error},
            )
            waiting[uuid] = failures.unanswered(error)
        except Exception as error:
            LOG.warning('Server %s stays as it is', uuid, exc_info=True)
            failed[uuid] = failures.raised(error)
        else:
            if reason is not None:
                waiting[uuid] = _read(reason)

    # A server that is being moved is listed on two hosts.
    parallel.each(ask, sorted({server.uuid for server in servers}))
    return ports.Outcome(waiting, failed)


def _read(answer: str | objects.Reason) -> objects.Reason:
    if isinstance(answer, str):
        return objects.Reason.plain(answer)
    return answer
