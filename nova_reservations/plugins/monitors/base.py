# SPDX-License-Identifier: Apache-2.0
"""Base class of monitors, which tell that resources fail and recover.

Entry points: nova_reservations.monitors.

A monitor reports, and keeps no state: the engine decides what follows for
leases, and ignores reports of resources that are not ours.
"""

import abc
from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import datetime
from typing import Any
from typing import ClassVar

from oslo_config import cfg

from nova_reservations import ports


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


class Monitor(abc.ABC):
    """Watches the resources of one type.

    :cvar resource_type: whose resources it knows.
    :cvar event_types: of the notifications that it wants; none if it only
        polls.
    """

    resource_type: ClassVar[str]
    event_types: ClassVar[Sequence[str]] = ()

    def __init__(self, cloud: ports.Cloud, conf: cfg.ConfigOpts) -> None:
        self.cloud = cloud
        self.conf = conf

    @property
    def topics(self) -> Sequence[str]:
        """The topics of the notifications that it wants."""
        return ()

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

    def domains(self, names: Collection[str]) -> Mapping[str, str]:
        """Return name -> what a resource has in common with those that may
        fail together with it. Where that is not known, all are one domain.

        :raises: CloudUnavailable
        """
        return {}
