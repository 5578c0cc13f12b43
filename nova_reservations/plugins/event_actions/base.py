# SPDX-License-Identifier: Apache-2.0
"""Base class of actions that are taken before a lease ends.

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
    """The time before the end of one reservation.

    :ivar id: the same whenever an action is repeated, and another one when
        the end was moved, and its time before has come anew.
    :ivar find_servers: asks Nova and placement for them.
    :ivar ending: what is done with them at the end, in words of the API.
    """

    id: str
    booking: base.Booking
    find_servers: Callable[[], Iterable[ports.Server]]
    ending: str

    @functools.cached_property
    def servers(self) -> tuple[ports.Server, ...]:
        """The servers of the reservation's project that use it.

        Looked for when an action wants them: most do not.

        :raises: CloudUnavailable
        """
        return tuple(self.find_servers())


class EventAction:
    """An action before a lease ends: override the methods that it needs.

    It keeps no state: it is called in any process, and again after a crash.
    What fails does so by CloudRefused, with words for the owner; it is
    reported, and the lease goes on.
    """

    def __init__(self, cloud: ports.Cloud, conf: cfg.ConfigOpts) -> None:
        self.cloud = cloud
        self.conf = conf

    def validate(self) -> None:
        """Refuse a reservation for which the action is not possible here.

        :raises: InvalidInput
        """

    def run(self, occasion: Occasion) -> base.Waiting | None:
        """Begin work that takes time, or look how far it has come.

        Called again, each second, as long as anything of the lease waits:
        what was begun on this occasion is not begun again.

        :raises: CloudRefused, CloudUnavailable
        """
        return None

    def tell(self, occasion: Occasion) -> None:
        """Do what is done at once: after all that takes its time, and once,
        unless the worker is killed meanwhile.

        :raises: CloudRefused, CloudUnavailable
        """
