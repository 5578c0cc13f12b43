# SPDX-License-Identifier: Apache-2.0
"""The options that the engine obeys, as values."""

import dataclasses
import datetime

from nova_reservations.objects import states


@dataclasses.dataclass(frozen=True, slots=True)
class Settings:
    """Each is the option of the same name.

    :ivar settle: no option: how long a request that was let in may take
        until it is seen on its host. Whole seconds are stored: the shortest
        that is surely more than none is two.
    """

    cleaning_time: datetime.timedelta = datetime.timedelta(0)
    prepare_ahead: datetime.timedelta = datetime.timedelta(minutes=10)
    before_end: datetime.timedelta = datetime.timedelta(minutes=60)
    end_timeout: datetime.timedelta = datetime.timedelta(seconds=600)
    host_refresh_interval: datetime.timedelta = datetime.timedelta(seconds=60)
    create_retry_interval: datetime.timedelta = datetime.timedelta(seconds=60)
    max_create_retries: int = 60
    conductors_guarded: bool = False
    build_wait: datetime.timedelta = datetime.timedelta(seconds=1800)
    best_effort_aggregate: str | None = None
    best_effort_timeout: datetime.timedelta = datetime.timedelta(seconds=900)
    polling_interval: datetime.timedelta = datetime.timedelta(seconds=60)
    down_after: datetime.timedelta = datetime.timedelta(seconds=120)
    healing_interval: datetime.timedelta = datetime.timedelta(minutes=60)
    heal_active: states.HealActive = states.HealActive.FAILED
    heal_limit: int = 30
    enable_polling_monitor: bool = True
    enable_notification_monitor: bool = False
    list_history: datetime.timedelta = datetime.timedelta(days=30)
    settle: datetime.timedelta = datetime.timedelta(seconds=2)
