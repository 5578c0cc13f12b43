# SPDX-License-Identifier: Apache-2.0
"""The engine's loop, in each worker of nova-scheduler, after the fork."""

from collections.abc import Callable
from collections.abc import Mapping
import pathlib
import random
import time
from typing import Any

from nova import context as nova_context
from nova import rpc
from nova import service
import nova.conf
from nova.scheduler import manager
from oslo_concurrency import lockutils
from oslo_config import cfg
from oslo_log import log
from oslo_service import loopingcall
from oslo_service import periodic_task
import wrapt

from nova_reservations import bootstrap
from nova_reservations import exception
from nova_reservations.cloud import listener as listeners
from nova_reservations.cloud import notifier
from nova_reservations.db.leases import looks as looks_db
from nova_reservations.engine import assembly
from nova_reservations.engine import clocks
from nova_reservations.engine.worker import worker
from nova_reservations.scheduler import engine_locks
from nova_reservations.scheduler import request_filter

LOG = log.getLogger(__name__)

INTERVAL = 0.5
"""Seconds between two looks at what is due."""

REMINDER = 60
"""Seconds between two lines of the log that say the same."""

SILENCE = 30
"""Seconds without a look after which something is wrong."""

TASK = 'nova_reservations_watchdog'


class Loop:
    """:ivar worker: begins the work that a look finds due, until stop().

    :ivar clock: decides whether the time of a look can be trusted. Nothing is
        begun while it cannot.

    :ivar looks: asks the database what is due.

    :ivar locks: decide whether this process looks.

    :ivar listener: hears notifications of failures; None: only polling finds
        failures.
    """

    def __init__(
        self,
        engine: worker.Worker,
        clock: clocks.Clock,
        looks: looks_db.Looks,
        locks: engine_locks.EngineLocks,
        listener: listeners.Listener | None = None,
    ) -> None:
        self.worker = engine
        self.clock = clock
        self.looks = looks
        self.locks = locks
        self.listener = listener
        self._call = loopingcall.FixedIntervalLoopingCall(self._tick)
        self._looking = False
        self._last = time.monotonic()
        self._database_is_down = False
        self._warned_at: float | None = None
        self._offered_at: float | None = None

    def start(self) -> None:
        self._last = time.monotonic()
        self._call = loopingcall.FixedIntervalLoopingCall(self._tick)
        self._call.start(
            interval=INTERVAL,
            # Workers that start together do not ask together.
            initial_delay=random.uniform(0, INTERVAL),  # noqa: S311
            stop_on_exception=False,
        )

    def listen(self) -> None:
        if self.listener is None:
            return
        try:
            self.listener.start()
        except exception.CloudUnavailable as error:
            LOG.error('Failures are seen by polling only: %s', error)
            self.listener = None

    def stop(self) -> None:
        """Begin nothing more, and finish work under way, or give it back."""
        self._call.stop()
        self.locks.release()
        if self.listener is not None:
            self.listener.stop()
        self.worker.stop()
        if not self._looking:
            self.looks.close()
        notifier.OUTBOX.flush()

    def watch(self) -> None:
        """Restart the loop if it has died; let another process look if it
        hangs."""
        silence = time.monotonic() - self._last
        if silence < SILENCE:
            return
        if self._looking:
            LOG.error(
                'The loop of reservations has been at one look for %d seconds:'
                ' another process of this nova-scheduler may look instead',
                silence,
            )
            self.locks.offer()
        else:
            LOG.error('The loop of reservations has died; it starts anew')
            self._call.stop()
            self.start()

    def _tick(self) -> None:
        self._last = time.monotonic()
        self._offer_if_hung()
        if not self.locks.acquire() and not self.worker.is_busy:
            return
        self._looking = True
        try:
            look = self.clock.look(self.looks.look)
            if not self.locks.acquire():
                # Another process looks now: only what was begun here is left.
                self.worker.tend(look.now)
                return
            if self._warned_at is not None:
                LOG.info('The clocks agree again: leases start and end')
                self.worker.recall(look.now)
                self._warned_at = None
            self.worker.begin(look)
            self._database_is_down = False
        except exception.ClocksDisagree as error:
            self._warn(error)
        except exception.DatabaseUnavailable as error:
            if not self._database_is_down:
                LOG.error('Leases neither start nor end: %s', error)
            self._database_is_down = True
        finally:
            self._looking = False

    def _offer_if_hung(self) -> None:
        """Let another process go on if half of the threads hang.

        This is repeated, as there may be another one only later. Where there
        is none, this process goes on with the threads that are left.
        """
        now = time.monotonic()
        if not self.worker.hangs:
            if self._offered_at is not None:
                LOG.info('The threads of reservations do not hang any more')
                self._offered_at = None
        elif self._offered_at is None or now - self._offered_at >= REMINDER:
            LOG.error(
                'Half of the threads in which leases start and end hang: '
                'another process of this nova-scheduler may go on'
            )
            self.locks.offer()
            self._offered_at = now

    def _warn(self, error: exception.ClocksDisagree) -> None:
        now = time.monotonic()
        if self._warned_at is None or now - self._warned_at >= REMINDER:
            LOG.error('Leases neither start nor end: %s', error)
            self._warned_at = now


def install() -> None:
    """Make the managers of nova-scheduler run the loop; call this once per
    process, before the first of them is complete."""
    wrapt.wrap_function_wrapper(
        manager.SchedulerManager, 'post_start_hook', _start
    )
    wrapt.wrap_function_wrapper(service.Service, 'stop', _stop)
    manager.SchedulerManager._add_periodic_task(_watch)


def _start(
    wrapped: Callable[..., None],
    scheduler: manager.SchedulerManager,
    args: Any,
    kwargs: Any,
) -> None:
    wrapped(*args, **kwargs)
    conf = nova.conf.CONF
    if not conf.reservations.enable_engine:
        return
    reserved_hosts = request_filter.installed()
    # The host filter, which brings us here, has installed it.
    assert reserved_hosts is not None
    services = reserved_hosts.services
    engine = bootstrap.build_worker(conf, services)
    listener = None
    if conf.reservations.enable_notification_monitor:
        listener = _listener(services)
    scheduler.nova_reservations_loop = Loop(
        engine,
        services.clock,
        looks_db.Looks(services.database),
        _locks(conf),
        listener,
    )
    scheduler.nova_reservations_loop.start()
    scheduler.nova_reservations_loop.listen()


def _locks(conf: cfg.ConfigOpts) -> engine_locks.EngineLocks:
    return engine_locks.EngineLocks(
        pathlib.Path(lockutils.get_lock_path(conf) or conf.state_path),
        conf.host,
        conf.reservations.engine_workers,
    )


def _listener(services: assembly.Services) -> listeners.Listener:
    def receive(
        event_type: str,
        payload: Mapping[str, Any],
        exchange: str | None,
        priority: str,
    ) -> None:
        try:
            services.monitoring.on_notification(
                event_type, payload, services.clock.now(), exchange, priority
            )
        except exception.ReservationsError as error:
            LOG.warning(
                'Notification %(event)s is ignored, polling will find its '
                'cause: %(reason)s',
                {'event': event_type, 'reason': error},
            )

    return listeners.Listener(
        rpc.NOTIFICATION_TRANSPORT,
        services.monitoring.subscriptions,
        receive,
    )


def _stop(
    wrapped: Callable[..., None],
    process: service.Service,
    args: Any,
    kwargs: Any,
) -> None:
    """Stop the loop before Nova stops: work under way may need what Nova shuts
    down."""
    loop = getattr(process.manager, 'nova_reservations_loop', None)
    try:
        if loop is not None:
            loop.stop()
    finally:
        # Nova's service must stop even if stopping our loop fails.
        wrapped(*args, **kwargs)


@periodic_task.periodic_task(spacing=SILENCE, name=TASK)
def _watch(
    scheduler: manager.SchedulerManager, context: nova_context.RequestContext
) -> None:
    loop = getattr(scheduler, 'nova_reservations_loop', None)
    if loop is not None:
        loop.watch()
