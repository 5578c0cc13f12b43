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

from nova import context as nova_context
from nova import exception as nova_exception
from nova import objects
from nova.compute import api
from oslo_log import log

from nova_reservations import exception
from nova_reservations import ports
from nova_reservations.cloud import parallel
from nova_reservations.cloud.servers import images

LOG = log.getLogger(__name__)


LOOK = datetime.timedelta(seconds=1)
"""For so long the state of a host's nova-compute is cached."""

NO_TIME = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
"""The origin of times for the cache, if the caller gives none."""

Clock = Callable[[], datetime.datetime | None]


class Failed(Exception):
    """An action has failed for good; with a message for the owner."""


class Nova:
    """Nova's compute API, with checks whether a server can be changed now."""

    def __init__(self, hosts: ports.Hosts) -> None:
        self._hosts = hosts
        self._seen: dict[
            str, tuple[datetime.datetime, ports.ComputeService | None]
        ] = {}
        """Host -> when it was read last, and its nova-compute, which is None
        if the cell did not answer."""
        self._asking = threading.Lock()

    def get(
        self, context: nova_context.RequestContext, uuid: str
    ) -> objects.Instance:
        """Return the server; the context is targeted to its cell."""
        return self.compute_api.get(
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
        self, instance: objects.Instance, now: datetime.datetime | None
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

    def host_is_up(self, host: str, now: datetime.datetime | None) -> bool:
        service = self._look(host, now)
        return service is not None and service.is_heard

    def host_is_silent(self, host: str, now: datetime.datetime | None) -> bool:
        """Return whether guests may still run on the host, while nobody can
        tell."""
        service = self._look(host, now)
        return service is None or service.is_silent

    def _look(
        self, host: str, now: datetime.datetime | None
    ) -> ports.ComputeService | None:
        """Return the host's nova-compute, from the cache if it was just read:
        for all servers of a host that are changed together, it is read once.
        """
        moment = now or NO_TIME + datetime.timedelta(seconds=time.monotonic())
        with self._asking:
            asked_at, service = self._seen.get(host, (None, None))
            if asked_at is None or abs(moment - asked_at) >= LOOK:
                service = self._hosts.compute_services(now, [host]).get(host)
                self._seen[host] = moment, service
        return service

    @functools.cached_property
    def compute_api(self) -> api.API:
        return api.API(image_api=images.Images())

    @functools.cached_property
    def deletions(self) -> api.API:
        return _deleting(images.Images())

    @functools.cached_property
    def deletions_keeping_images(self) -> api.API:
        return _deleting(images.Kept())


class _Fenced:
    """Replaces Nova's service group for deletions: a host counts as down only
    if it is forced down, and not because it has not reported in time.

    Nova checks the host again after us. If it finds that the host has not
    reported, it would delete the server in the database only.
    """

    @staticmethod
    def service_is_up(service: objects.Service) -> bool:
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


Step = Callable[[Request, str], str | None]
"""Asks Nova to change the server with this UUID. Returns what the server waits
for, or why Nova refuses; raises Failed if waiting is of no use."""


def running(now: datetime.datetime | None) -> Clock:
    """Return a clock that starts at this time.

    Requests for many servers take long, and a host may fail meanwhile.
    """
    begun = time.monotonic()

    def clock() -> datetime.datetime | None:
        passed = datetime.timedelta(seconds=time.monotonic() - begun)
        return now and now + passed

    return clock


class Awaited:
    """A method of the port that asks Nova to change servers, and returns which
    of them wait and which have failed."""

    def __init__(self, step: Step) -> None:
        self._step = step

    def __call__(
        self,
        servers: Collection[ports.Server],
        key: ports.RequestKey,
        check: ports.Check,
        now: datetime.datetime | None = None,
    ) -> ports.Outcome:
        request = Request(
            key, frozenset(server.host for server in servers), running(now)
        )
        return each(functools.partial(self._step, request), servers, check)


class Asked:
    """A method of the port that asks Nova to change servers, and returns the
    reasons why some of them are not changed."""

    def __init__(self, step: Step) -> None:
        self._awaited = Awaited(step)

    def __call__(
        self,
        servers: Collection[ports.Server],
        key: ports.RequestKey,
        check: ports.Check,
        now: datetime.datetime | None = None,
    ) -> Mapping[str, str]:
        return reasons(self._awaited(servers, key, check, now))


def reasons(outcome: ports.Outcome) -> Mapping[str, str]:
    """Return server UUID -> why the server waits, or has failed."""
    return {**outcome.waiting, **outcome.failed}


def each(
    function: Callable[[str], str | None],
    servers: Collection[ports.Server],
    check: ports.Check,
) -> ports.Outcome:
    """Call function with each server's UUID; it returns what the server
    waits for, and raises an error if waiting is of no use.

    An error of one server does not hold up the others.
    """
    waiting, failed = {}, {}

    def ask(uuid: str) -> None:
        check()
        try:
            reason = function(uuid)
        except nova_exception.InstanceNotFound:
            return
        except Failed as error:
            failed[uuid] = str(error)
        except exception.ReservationsError:
            raise
        except Exception as error:
            LOG.warning('Server %s stays as it is', uuid, exc_info=True)
            failed[uuid] = _said(error)
        else:
            if reason is not None:
                waiting[uuid] = reason

    # A server that is being moved is listed on two hosts.
    parallel.each(ask, sorted({server.uuid for server in servers}))
    return ports.Outcome(waiting, failed)


def _said(error: Exception) -> str:
    """Return the text of an error for the server's owner.

    It must not name hosts. Errors other than Nova's own may come from a
    compute host, with any text, so they are not shown."""
    if isinstance(error, nova_exception.NovaException) and not any(
        'host' in name or 'node' in name for name in error.kwargs
    ):
        return str(error.format_message())
    return 'Nova failed at it'
