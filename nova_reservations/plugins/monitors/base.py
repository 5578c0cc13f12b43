# SPDX-License-Identifier: Apache-2.0
"""Base class of monitors, which tell that resources fail and recover.

Entry points: nova_reservations.monitors.

A monitor reports, and keeps no state: the engine decides what follows for
leases, and ignores reports of resources that are not ours.
"""

import abc
from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import datetime
from typing import Any
from typing import ClassVar

from debtcollector import deprecate
from oslo_config import cfg

from nova_reservations import ports

PRIORITIES = frozenset(
    {'audit', 'critical', 'debug', 'error', 'info', 'sample', 'warn'}
)
"""Of notifications, as oslo.messaging knows them."""


@dataclasses.dataclass(frozen=True, slots=True)
class Subscription:
    """Notifications that a monitor wants.

    :ivar topic: to which they are sent.
    :ivar event_types: of them; all others are left out.
    :ivar exchange: the ``control_exchange`` of the service that sends them;
        None: Nova's own.
    :ivar priorities: with which they are sent, of PRIORITIES.
    :raises: ValueError if there is no such priority
    """

    topic: str
    event_types: Collection[str]
    exchange: str | None = None
    priorities: Collection[str] = ('info',)

    def __post_init__(self) -> None:
        unknown = sorted(set(self.priorities) - PRIORITIES)
        if unknown:
            raise ValueError(
                f'No notification has the priority {", ".join(unknown)}: '
                f'there are {", ".join(sorted(PRIORITIES))}'
            )

    def has(
        self, event_type: str, exchange: str | None, priority: str
    ) -> bool:
        """Return whether such a notification is one of them."""
        return (
            event_type in self.event_types
            and exchange == self.exchange
            and priority in self.priorities
        )


@dataclasses.dataclass(frozen=True, slots=True)
class Changes:
    """Names of resources; of those in none of these nothing is known.

    :ivar failed: they surely do nothing any more: they have failed at once.
    :ivar recovered: they work.
    :ivar down: nothing is heard of them: they have failed if that lasts for
        ``[reservations] down_after``.
    :ivar disabled: whether they work or are down, an operator wants nothing
        new on them: no new lease gets them, and that they are down is
        expected.
    """

    failed: Collection[str] = ()
    recovered: Collection[str] = ()
    down: Collection[str] = ()
    disabled: Collection[str] = ()

    @property
    def names(self) -> set[str]:
        return {*self.failed, *self.recovered, *self.down, *self.disabled}


Holders = Callable[[], Mapping[str, Collection[str]]]
"""Tells, at the moment of the call, name -> the projects whose leases have
begun and hold the resource."""


class Monitor(abc.ABC):
    """Watches the resources of one type.

    :cvar resource_type: whose resources it knows.
    """

    resource_type: ClassVar[str]

    def __init__(self, cloud: ports.Cloud, conf: cfg.ConfigOpts) -> None:
        self.cloud = cloud
        self.conf = conf

    @property
    def subscriptions(self) -> Sequence[Subscription]:
        """The notifications that it wants; none if it only polls."""
        return _subscriptions_of_0_2(self)

    def on_notification(
        self,
        event_type: str,
        payload: Mapping[str, Any],
        now: datetime.datetime,
    ) -> Changes:
        """Say what a notification means.

        It may be old, or come twice.

        :raises: CloudUnavailable
        """
        return Changes()

    def check_states(
        self, known: Collection[str], now: datetime.datetime
    ) -> Changes:
        """Look at all resources that there are.

        Also what is as it was may be told again.

        :param known: the names of those that are ours
        :raises: CloudUnavailable
        """
        return Changes()

    def check_held(
        self,
        known: Collection[str],
        holders: Holders,
        now: datetime.datetime,
    ) -> Changes:
        """Do the same, for a monitor that wants to know who has the
        resources.

        :raises: CloudUnavailable
        """
        return self.check_states(known, now)

    def domains(self, names: Collection[str]) -> Mapping[str, str]:
        """Return name -> what a resource has in common with those that may
        fail together with it. Where that is not known, all are one domain.

        :raises: CloudUnavailable
        """
        return {}


def _subscriptions_of_0_2(monitor: Monitor) -> list[Subscription]:
    """Return what a monitor wants that was written for version 0.2: it names
    topics and, for all of them, types of events."""
    topics: Sequence[str] = getattr(monitor, 'topics', ())
    event_types: Sequence[str] = getattr(monitor, 'event_types', ())
    if not topics or not event_types:
        return []
    deprecate(
        f'The topics and event_types of {type(monitor).__qualname__} are '
        'deprecated',
        message='Return subscriptions.',
        removal_version='0.3',
    )
    return [Subscription(topic, event_types) for topic in topics]
