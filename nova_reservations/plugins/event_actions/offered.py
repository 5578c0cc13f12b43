# SPDX-License-Identifier: Apache-2.0
"""Event actions that a reservation can choose for ``before_end_lease``.

Some actions come with the package; others are entry points of
``nova_reservations.event.actions``. The operator configures which of them
are offered.
"""

import abc
from collections.abc import Iterable
from collections.abc import Mapping
import functools
from typing import Any
from typing import ClassVar

from oslo_config import cfg

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations import plugin_loader
from nova_reservations import ports
from nova_reservations.plugins.event_actions import base as event_action
from nova_reservations.plugins.event_actions import email
from nova_reservations.plugins.event_actions import snapshot
from nova_reservations.plugins.event_actions import webhook
from nova_reservations.plugins.resource_types import base
from nova_reservations.plugins.resource_types import end_actions

NAMESPACE = 'nova_reservations.event.actions'

NOTIFY = 'notify'
"""The action that does nothing beside the notification of each lease."""

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
        name = chosen(reservation) or NOTIFY
        if name == DEFAULT:
            name = self._default
        try:
            return self._actions[name]
        except KeyError:
            raise exception.CloudRefused(
                what=f'before_end {name}',
                reason='it is not offered here any more',
            ) from None


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
        action: str = reservation.params.get('end_action', end_actions.DELETE)
        return action

    def before_end(self, booking: base.Booking) -> base.Waiting | None:
        action = self.actions.of(booking.reservation)
        return action.run(self._occasion(booking))

    def announce_end(self, booking: base.Booking) -> None:
        self.actions.of(booking.reservation).tell(self._occasion(booking))

    def _occasion(self, booking: base.Booking) -> event_action.Occasion:
        return event_action.Occasion(
            f'{booking.reservation.id} {booking.warned_at:%Y-%m-%dT%H:%M:%SZ}',
            booking,
            functools.partial(self.find_servers, booking),
            self.ending(booking.reservation),
        )


def chosen(reservation: objects.Reservation) -> str:
    """Return the name of the event action. Older reservations have none,
    because their types could not choose one at that time."""
    name: str = reservation.params.get('before_end', DEFAULT)
    return name
