# SPDX-License-Identifier: Apache-2.0
"""Base class of event actions, which run before a lease ends.

Entry points of ``nova_reservations.event.actions`` are classes of this kind.
"""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Sequence
import dataclasses
import datetime
import functools

from oslo_config import cfg

from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.types import base


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


@dataclasses.dataclass(frozen=True, slots=True)
class Announcement:
    """A message that is to be sent.

    :ivar destination: where to, at most 255 characters, without credentials.
        Few messages at a time are sent to one destination, so that one that
        does not answer keeps nothing from others.
    :ivar body: what send() will get.
    """

    destination: str
    body: str


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

    def announce(self, occasion: Occasion) -> Sequence[Announcement]:
        """Return the messages that tell of the occasion; send none.

        Called when run() of all reservations of the lease is over, or has
        taken too long, and again if the worker is killed. The messages are
        written with the record that this was done, and sent afterwards.

        :raises: CloudRefused, CloudUnavailable
        """
        return ()

    def send(self, message: objects.Message, now: datetime.datetime) -> None:
        """Send a message that announce() has returned, in any process.

        Called in a thread of its own, so it may wait for an answer, but not
        for ever. If it fails it is called again, after growing pauses, as long
        as the message is true and the lease has not ended. It may be called
        again after a success, too, if the worker is killed before it could
        record that; ``message.id`` is the same then.

        :raises: CloudRefused, CloudUnavailable
        """
        raise NotImplementedError
