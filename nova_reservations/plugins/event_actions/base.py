# SPDX-License-Identifier: Apache-2.0
"""Base class of event actions, which run before a lease ends.

Entry points of ``nova_reservations.event.actions`` are classes of this kind.
"""

from collections.abc import Callable
from collections.abc import Iterable
import dataclasses
import functools

from oslo_config import cfg

from nova_reservations import ports
from nova_reservations.plugins.resource_types import base


@dataclasses.dataclass(frozen=True)
class Occasion:
    """One event before the end of one reservation.

    :ivar id: identifies the event: it is the same when an action is repeated,
        and another one when the end was moved so that the event is due again.
    :ivar find_servers: asks Nova and placement for the servers.
    :ivar ending: the end action of the servers, in words of the API.
    """

    id: str
    booking: base.Booking
    find_servers: Callable[[], Iterable[ports.Server]]
    ending: str

    @functools.cached_property
    def servers(self) -> tuple[ports.Server, ...]:
        """The servers that use the reservation: of its project, and of
        projects with which it is shared.

        They are looked up lazily, because most actions do not need them.

        :raises: CloudUnavailable
        """
        return tuple(self.find_servers())


class EventAction:
    """An action before a lease ends; override the methods that are needed.

    An action keeps no state, because any process calls it, and again after a
    crash. To fail, it raises CloudRefused with a message for the owner. The
    failure is reported, and the lease goes on.
    """

    def __init__(self, cloud: ports.Cloud, conf: cfg.ConfigOpts) -> None:
        self.cloud = cloud
        self.conf = conf

    def validate(self) -> None:
        """Refuse a reservation if the action is not possible in this cloud.

        :raises: InvalidInput
        """

    def run(self, occasion: Occasion) -> base.Waiting | None:
        """Begin work that takes time, or check its progress.

        Called again, each second, as long as any reservation of the lease
        waits. So it must not begin again what was begun for this occasion.

        :raises: CloudRefused, CloudUnavailable
        """
        return None

    def tell(self, occasion: Occasion) -> None:
        """Do the work that takes no time, such as sending a message.

        Called when run() of all reservations of the lease is over, or has
        taken too long: once, unless the worker is killed meanwhile.

        :raises: CloudRefused, CloudUnavailable
        """
