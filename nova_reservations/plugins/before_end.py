# SPDX-License-Identifier: Apache-2.0
"""What a reservation wants done at ``before_end_lease``, by name.

Some actions come with the package; others are entry points of
``nova_reservations.event.actions``. The operator says which of them are
offered.
"""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
from typing import Any

from oslo_config import cfg

from nova_reservations import exception
from nova_reservations import extensions
from nova_reservations import ports
from nova_reservations.plugins import base
from nova_reservations.plugins import event_action
from nova_reservations.plugins import mail
from nova_reservations.plugins import snapshot
from nova_reservations.plugins import webhook

NAMESPACE = 'nova_reservations.event.actions'

NOTIFY = 'notify'
"""The notification that each lease emits in any case, and no more."""

DEFAULT = 'default'
"""What the operator has chosen."""

PROPERTIES: Mapping[str, Any] = {
    'before_end': {'type': ['string', 'null'], 'maxLength': 64}
}
"""Of the schema of a reservation: what ``Actions.validate`` understands."""


SHIPPED: dict[str, type[event_action.EventAction]] = {
    NOTIFY: event_action.EventAction,
    'snapshot': snapshot.Snapshot,
    'webhook': webhook.Webhook,
    'email': mail.Mail,
}


class Actions:
    """Those that conf offers, by name.

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
        } | extensions.make(
            NAMESPACE,
            [name for name in names if name not in SHIPPED],
            event_action.EventAction,
            '[reservations] before_end_actions or default_before_end',
            exception.UnknownEventAction,
            cloud,
            conf,
        )

    def validate(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Return what of the params is about the time before the end.

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

    def run(
        self,
        booking: base.Booking,
        find_servers: Callable[[], Iterable[ports.Server]],
    ) -> base.Waiting | None:
        """:raises: CloudRefused, CloudUnavailable"""
        action = self._action(booking)
        return action.run(_occasion(booking, find_servers))

    def tell(
        self,
        booking: base.Booking,
        find_servers: Callable[[], Iterable[ports.Server]],
    ) -> None:
        """:raises: CloudRefused, CloudUnavailable"""
        self._action(booking).tell(_occasion(booking, find_servers))

    def _action(self, booking: base.Booking) -> event_action.EventAction:
        name = booking.reservation.params.get('before_end') or NOTIFY
        if name == DEFAULT:
            name = self._default
        try:
            return self._actions[name]
        except KeyError:
            raise exception.CloudRefused(
                what=f'before_end {name}',
                reason='it is not offered here any more',
            ) from None


def _occasion(
    booking: base.Booking,
    find_servers: Callable[[], Iterable[ports.Server]],
) -> event_action.Occasion:
    return event_action.Occasion(
        f'{booking.reservation.id} {booking.warned_at:%Y-%m-%dT%H:%M:%SZ}',
        booking,
        find_servers,
    )
