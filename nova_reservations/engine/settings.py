# SPDX-License-Identifier: Apache-2.0
"""The options that the engine obeys, as values."""

import dataclasses
import datetime
from typing import Self

from oslo_config import cfg

from nova_reservations.objects import limits
from nova_reservations.objects import states

SETTLE = datetime.timedelta(seconds=2)
"""The time until a request that was let in is seen on its host.
Times are stored in whole seconds, so a difference of two seconds is the
shortest that surely means some time.

Decision 0007: doc/source/decisions/0007-an-end-settles"""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Each is the option of ``[reservations]`` with the same name.

    :ivar before_end: the option ``minutes_before_end_lease``.
    :ivar limits: the limits of each project, as far as options set them.
    :ivar settle: not an option: ``SETTLE``, except in tests.
    """

    cleaning_time: datetime.timedelta
    prepare_ahead: datetime.timedelta
    before_end: datetime.timedelta
    end_timeout: datetime.timedelta
    unused_lease_timeout: datetime.timedelta
    unused_lease_action: states.UnusedAction
    host_refresh_interval: datetime.timedelta
    max_create_wait: datetime.timedelta
    create_retry_interval: datetime.timedelta
    max_create_retries: int | None
    conductors_guarded: bool
    build_wait: datetime.timedelta
    best_effort_aggregate: str | None
    best_effort_timeout: datetime.timedelta
    polling_interval: datetime.timedelta
    down_after: datetime.timedelta
    healing_interval: datetime.timedelta
    heal_active: states.HealActive
    heal_limit: int
    heal_evacuate: bool
    enable_polling_monitor: bool
    enable_notification_monitor: bool
    list_history: datetime.timedelta
    replan_limit: int
    demand_history: datetime.timedelta
    lease_exists_notifications: bool
    lease_retention: datetime.timedelta | None
    usage_retention: datetime.timedelta | None
    rating_digits: int
    max_lease_duration: datetime.timedelta | None
    max_lease_duration_exempt_project_ids: frozenset[str]
    reservation_extension_window: datetime.timedelta | None
    max_start_ahead: datetime.timedelta | None
    limits: limits.Limits
    settle: datetime.timedelta

    @classmethod
    def of(cls, conf: cfg.ConfigOpts) -> Self:
        """Return the settings that conf has, each in the unit of its option.

        :param conf: with our options registered
        """
        group = conf.reservations
        return cls(
            cleaning_time=_minutes(group.cleaning_time),
            prepare_ahead=_minutes(group.prepare_ahead),
            before_end=_minutes(group.minutes_before_end_lease),
            end_timeout=_seconds(group.end_timeout),
            unused_lease_timeout=_minutes(group.unused_lease_timeout),
            unused_lease_action=states.UnusedAction(group.unused_lease_action),
            host_refresh_interval=_seconds(group.host_refresh_interval),
            max_create_wait=_seconds(group.max_create_wait),
            create_retry_interval=_seconds(group.create_retry_interval),
            max_create_retries=group.max_create_retries,
            conductors_guarded=group.conductors_guarded,
            build_wait=_seconds(group.build_wait),
            best_effort_aggregate=group.best_effort_aggregate,
            best_effort_timeout=_seconds(group.best_effort_timeout),
            polling_interval=_seconds(group.polling_interval),
            down_after=_seconds(group.down_after),
            healing_interval=_minutes(group.healing_interval),
            heal_active=states.HealActive(group.heal_active),
            heal_limit=group.heal_limit,
            heal_evacuate=group.heal_evacuate,
            enable_polling_monitor=group.enable_polling_monitor,
            enable_notification_monitor=group.enable_notification_monitor,
            list_history=datetime.timedelta(days=group.list_history),
            replan_limit=group.replan_limit,
            lease_exists_notifications=group.lease_exists_notifications,
            lease_retention=_days(group.lease_retention),
            usage_retention=_days(group.usage_retention),
            rating_digits=group.rating_digits,
            demand_history=datetime.timedelta(days=group.demand_history),
            max_lease_duration=_limit(group.max_lease_duration),
            max_lease_duration_exempt_project_ids=frozenset(
                group.max_lease_duration_exempt_project_ids
            ),
            reservation_extension_window=_limit(
                group.reservation_extension_window
            ),
            max_start_ahead=_limit(group.max_start_ahead),
            limits=limits.Limits.of(
                {
                    'leases': group.max_open_leases,
                    'waiting': group.max_waiting_leases,
                    limits.HOSTS: group.max_reserved_hosts,
                    limits.SLOTS: group.max_reserved_slots,
                    'host_hours': group.max_host_hours,
                    **group.max_reserved_resources,
                }
            ),
            settle=SETTLE,
        )


def _minutes(number: float) -> datetime.timedelta:
    return datetime.timedelta(minutes=number)


def _days(number: int) -> datetime.timedelta | None:
    """Return the time; None for 0, which means for ever."""
    return datetime.timedelta(days=number) if number else None


def _seconds(number: float) -> datetime.timedelta:
    return datetime.timedelta(seconds=number)


def _limit(seconds: int) -> datetime.timedelta | None:
    return None if seconds < 0 else _seconds(seconds)
