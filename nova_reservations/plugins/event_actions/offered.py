# SPDX-License-Identifier: Apache-2.0
"""Event actions that a reservation can choose for ``before_end_lease``.

Some actions come with the package; others are entry points of
``nova_reservations.event.actions``. The operator configures which of them
are offered.
"""

import abc
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import functools
from typing import Any
from typing import ClassVar
import uuid

from oslo_config import cfg

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations import plugin_loader
from nova_reservations import ports
from nova_reservations.objects import states
from nova_reservations.plugins.event_actions import base as event_action
from nova_reservations.plugins.event_actions import email
from nova_reservations.plugins.event_actions import snapshot
from nova_reservations.plugins.event_actions import webhook
from nova_reservations.types import base
from nova_reservations.types.servers import end_actions

NAMESPACE = 'nova_reservations.event.actions'

NOTIFY = 'notify'
"""The action that does nothing beside the notification of each lease."""

_IDS = uuid.UUID('0a8f2b0c-5f5e-4b45-9d0f-2f3f2d6a7c11')

DEFAULT = 'default'
"""The event action that the operator has chosen."""

PROPERTIES: Mapping[str, Any] = {
    'before_end': {'type': ['string', 'null'], 'maxLength': 64}
}
"""The part of a reservation's schema that ``Actions.validate`` understands."""


SHIPPED: dict[str, type[event_action.EventAction]] = {
    NOTIFY: event_action.EventAction,
    'snapshot': snapshot.Snapshot,
    'webhook': webhook.Webhook,
    'email': email.Mail,
}


class Actions:
    """The event actions that conf offers, by name.

    :raises: UnknownEventAction if one of them is not installed
    """

    def __init__(self, cloud: ports.Cloud, conf: cfg.ConfigOpts) -> None:
        group = conf.reservations
        self._default = group.default_before_end
        self._offered = dict.fromkeys([NOTIFY, *group.before_end_actions])
        names = dict.fromkeys([*self._offered, self._default])
        self._actions = {
            name: SHIPPED[name](cloud, conf)
            for name in names
            if name in SHIPPED
        } | plugin_loader.make(
            NAMESPACE,
            [name for name in names if name not in SHIPPED],
            event_action.EventAction,
            '[reservations] before_end_actions or default_before_end',
            exception.UnknownEventAction,
            cloud,
            conf,
        )

    def validate(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Return the params of the event action.

        :raises: InvalidInput
        """
        name = asked.get('before_end', DEFAULT) or ''
        if name in ('', DEFAULT):
            return {'before_end': name}
        if name not in self._offered:
            raise exception.InvalidInput(
                f'before_end {name} is not offered here; choose one of: '
                f'{", ".join([DEFAULT, *self._offered])}'
            )
        self._actions[name].validate()
        return {'before_end': name}

    def of(self, reservation: objects.Reservation) -> event_action.EventAction:
        """:raises: CloudRefused"""
        return self.named(self._name(reservation))

    def named(self, name: str) -> event_action.EventAction:
        """:raises: CloudRefused"""
        try:
            return self._actions[name]
        except KeyError:
            raise exception.CloudRefused(
                what=f'before_end {name}',
                reason='it is not offered here any more',
            ) from None

    def _name(self, reservation: objects.Reservation) -> str:
        name = chosen(reservation) or NOTIFY
        return self._default if name == DEFAULT else name

    def announce(
        self, occasion: event_action.Occasion
    ) -> list[objects.Message]:
        """Return the messages of the event action of a reservation.

        :raises: CloudRefused, CloudUnavailable
        """
        booking = occasion.booking
        name = self._name(booking.reservation)
        assert booking.warned_at is not None
        # What is told twice is sent once; different messages may go to one
        # destination.
        told = [*dict.fromkeys(self.named(name).announce(occasion))]
        return [
            objects.Message(
                id=_message_id(occasion, told[: number + 1]),
                lease_id=booking.lease.id,
                reservation_id=booking.reservation.id,
                action=name,
                destination=each.destination,
                body=each.body,
                event_type=states.EventType.BEFORE_END,
                event_time=booking.warned_at,
                end_date=booking.lease.end_date,
                chosen=booking.reservation.params.get('before_end'),
            )
            for number, each in enumerate(told)
        ]

    def announce_without_servers(
        self, booking: base.Booking
    ) -> list[objects.Message]:
        """Return the messages of the operator's action for a reservation that
        no servers use, and that can choose none.

        :raises: CloudRefused, CloudUnavailable
        """
        return self.announce(
            _occasion(booking, tuple, _ending(booking.reservation))
        )


def _message_id(
    occasion: event_action.Occasion,
    told: Sequence[event_action.Announcement],
) -> str:
    """Return the id of the last of these messages."""
    destination = told[-1].destination
    before = sum(each.destination == destination for each in told[:-1])
    which = f'{occasion.id} {destination}' + (f' {before}' if before else '')
    return str(uuid.uuid5(_IDS, which))


class WithServers(base.ResourceType):
    """A resource type that servers use, so that all offered event actions can
    be chosen for its reservations.

    A subclass also has to put ``PROPERTIES`` into its schemas, and the result
    of ``actions.validate`` into its params.
    """

    resource_type: ClassVar[str | None] = objects.HOST

    def __init__(self, cloud: ports.Cloud, conf: cfg.ConfigOpts) -> None:
        super().__init__(cloud, conf)
        self.actions = Actions(cloud, conf)

    @abc.abstractmethod
    def find_servers(self, booking: base.Booking) -> Iterable[ports.Server]:
        """Return the servers that use an active reservation: of its project,
        and of projects with which it is shared.

        :raises: CloudUnavailable
        """

    def ending(self, reservation: objects.Reservation) -> str:
        """Return the end action of the servers, in words of the API."""
        return _ending(reservation)

    def move_servers(self, booking: base.Booking) -> Mapping[int, str]:
        """Have servers of an active reservation leave ``booking.emptied`` for
        the resources that it has; called again while any of them is left
        there.

        :returns: resource id -> why servers there can not be moved; they are
            not tried again before an operator asks again
        """
        return {}

    def before_end(self, booking: base.Booking) -> base.Waiting | None:
        action = self.actions.of(booking.reservation)
        return action.run(self._occasion(booking))

    def announcements(self, booking: base.Booking) -> list[objects.Message]:
        """Return the messages of the event action, after before_end().

        :raises: CloudRefused; it is reported. CloudUnavailable
        """
        return self.actions.announce(self._occasion(booking))

    def _occasion(self, booking: base.Booking) -> event_action.Occasion:
        return _occasion(
            booking,
            functools.partial(self.find_servers, booking),
            self.ending(booking.reservation),
        )


def chosen(reservation: objects.Reservation) -> str:
    """Return the name of the event action. Older reservations have none,
    because their types could not choose one at that time."""
    name: str = reservation.params.get('before_end', DEFAULT)
    return name


def _ending(reservation: objects.Reservation) -> str:
    action: str = reservation.params.get('end_action', end_actions.DELETE)
    return action


def _occasion(
    booking: base.Booking,
    find_servers: Callable[[], Iterable[ports.Server]],
    ending: str,
) -> event_action.Occasion:
    return event_action.Occasion(
        f'{booking.reservation.id} {booking.warned_at:%Y-%m-%dT%H:%M:%SZ}',
        booking,
        find_servers,
        ending,
    )
