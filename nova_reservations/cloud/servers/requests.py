# SPDX-License-Identifier: Apache-2.0
"""Requests to Nova to change servers, many at once.

Through Nova's own compute API, in an administrator's context, by which
locked servers are no exception. Nova is asked, and not waited for.
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
"""No two looks at the same host are closer."""

NO_TIME = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
"""Looks are counted from it where no time is given."""

Clock = Callable[[], datetime.datetime | None]


class Failed(Exception):
    """It is no use to ask again; in words for the owner."""


class Nova:
    """Nova's compute API, with checks whether it can be asked for something
    now."""

    def __init__(self, hosts: ports.Hosts) -> None:
        self._hosts = hosts
        self._seen: dict[
            str, tuple[datetime.datetime, ports.ComputeService | None]
        ] = {}
        """Host -> the time of the last look at it, and its nova-compute; None
        where its cell did not answer."""
        self._asking = threading.Lock()

    def get(
        self, context: nova_context.RequestContext, uuid: str
    ) -> objects.Instance:
        """Return the server, and have the context be of its cell."""
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
        """Return why nothing can be asked of the server now."""
        if instance.task_state is not None:
            return f'it is still {instance.task_state}'
        if not instance.host:
            return 'it has no host yet'
        # What is asked of a host that is down is never answered, and the
        # server is stuck with it.
        if not self.host_is_up(instance.host, now):
            return 'its host is down'
        return None

    def host_is_up(self, host: str, now: datetime.datetime | None) -> bool:
        service = self._look(host, now)
        return service is not None and service.is_heard

    def host_is_silent(self, host: str, now: datetime.datetime | None) -> bool:
        """Return whether guests may run on the host, and nobody can be asked
        about them."""
        service = self._look(host, now)
        return service is None or service.is_silent

    def _look(
        self, host: str, now: datetime.datetime | None
    ) -> ports.ComputeService | None:
        """Ask once for all servers of a host that are looked at together."""
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
    """In place of Nova's service group, for deletions: a host is down if
    somebody says so, and not because it was not heard in time.

    Nova looks again after us. Where it finds that a host is not heard it
    would delete its servers from the database alone.
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

    :ivar key: each of them is asked once for it.
    :ivar hosts: the hosts that they are to leave, if any.
    :ivar clock: tells the time by which hosts are up; None: Nova's own clock
        does.
    """

    key: ports.RequestKey
    hosts: frozenset[str]
    clock: Clock


Step = Callable[[Request, str], str | None]
"""Asks Nova to change the server with this UUID; returns what it waits for,
or why it will not, and raises Failed where it is no use to wait."""


def running(now: datetime.datetime | None) -> Clock:
    """Return a clock that shows this time, and goes on from it.

    To ask for many servers takes long, and a host may fail meanwhile.
    """
    begun = time.monotonic()

    def clock() -> datetime.datetime | None:
        passed = datetime.timedelta(seconds=time.monotonic() - begun)
        return now and now + passed

    return clock


class Awaited:
    """A method of the port: Nova is asked to change servers, and tells which
    of them wait, and which have failed."""

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
    """A method of the port: Nova is asked to change servers, and tells why
    it will not."""

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
    """Return server UUID -> why it is not as it was asked to be."""
    return {**outcome.waiting, **outcome.failed}


def each(
    function: Callable[[str], str | None],
    servers: Collection[ports.Server],
    check: ports.Check,
) -> ports.Outcome:
    """Call function with each server's UUID; it returns what the server
    waits for, and raises where it is no use to wait.

    One server, and what is wrong with it, must not keep the others.
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

    # One that is being moved is on two hosts.
    parallel.each(ask, sorted({server.uuid for server in servers}))
    return ports.Outcome(waiting, failed)


def _said(error: Exception) -> str:
    """Return what the server's owner reads of an error: no name of a host,
    and a compute host that is asked on the way fails in any words."""
    if isinstance(error, nova_exception.NovaException) and not any(
        'host' in name or 'node' in name for name in error.kwargs
    ):
        return str(error.format_message())
    return 'Nova failed at it'
