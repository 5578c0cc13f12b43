# SPDX-License-Identifier: Apache-2.0
"""Base class of monitors, which report that resources fail and recover.

Entry points: nova_reservations.monitors.

A monitor only reports, and keeps no state. The engine decides what a report
means for leases, and ignores resources that are not in the pool.
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

from oslo_config import cfg

from nova_reservations import ports

PRIORITIES = frozenset(
    {'audit', 'critical', 'debug', 'error', 'info', 'sample', 'warn'}
)
"""The priorities of notifications that oslo.messaging has."""


@dataclasses.dataclass(frozen=True, slots=True)
class Subscription:
    """Notifications that a monitor wants.

    :ivar topic: the topic to which they are sent.
    :ivar event_types: the types that are wanted; all others are ignored.
    :ivar exchange: the ``control_exchange`` of the service that sends them;
        None: Nova's own.
    :ivar priorities: the priorities with which they are sent, of PRIORITIES.
    :raises: ValueError for an unknown priority
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
        """Return whether the monitor wants such a notification."""
        return (
            event_type in self.event_types
            and exchange == self.exchange
            and priority in self.priorities
        )


@dataclasses.dataclass(frozen=True, slots=True)
class Changes:
    """Names of resources, by their state. Nothing is reported of a resource
    that is in none of these fields.

    :ivar failed: they surely do not work any more, so they count as failed at
        once.
    :ivar recovered: they work.
    :ivar down: they do not answer. They count as failed if that lasts for
        ``[reservations] down_after``.
    :ivar disabled: an operator wants nothing new on them, whether they work or
        are down. No new lease gets them; if they are down, that is expected.
    """

    failed: Collection[str] = ()
    recovered: Collection[str] = ()
    down: Collection[str] = ()
    disabled: Collection[str] = ()

    @property
    def names(self) -> set[str]:
        return {*self.failed, *self.recovered, *self.down, *self.disabled}


Holders = Callable[[], Mapping[str, Collection[str]]]
"""Returns, as of the call, name of a resource -> the projects whose leases
have begun and hold the resource."""


class Monitor(abc.ABC):
    """Watches the resources of one type.

    :cvar resource_type: the type of the resources that it watches.
    """

    resource_type: ClassVar[str]

    def __init__(self, cloud: ports.Cloud, conf: cfg.ConfigOpts) -> None:
        self.cloud = cloud
        self.conf = conf

    @property
    def subscriptions(self) -> Sequence[Subscription]:
        """The notifications that the monitor wants; none if it only polls."""
        return ()

    def on_notification(
        self,
        event_type: str,
        payload: Mapping[str, Any],
        now: datetime.datetime,
    ) -> Changes:
        """Return the changes that a notification reports.

        The notification may be old, or come twice.

        :raises: CloudUnavailable
        """
        return Changes()

    def check_states(
        self, known: Collection[str], now: datetime.datetime
    ) -> Changes:
        """Return the state of all resources that the monitor knows.

        States that have not changed may be reported, too.

        :param known: the names of the resources in the pool
        :raises: CloudUnavailable
        """
        return Changes()

    def check_held(
        self,
        known: Collection[str],
        holders: Holders,
        now: datetime.datetime,
    ) -> Changes:
        """Do what check_states() does, in a monitor that needs to know who
        has the resources.

        :raises: CloudUnavailable
        """
        return self.check_states(known, now)

    def domains(self, names: Collection[str]) -> Mapping[str, str]:
        """Return name of a resource -> its failure domain: resources with the
        same domain may fail together. Resources that are left out are all in
        one domain.

        :raises: CloudUnavailable
        """
        return {}
