# SPDX-License-Identifier: Apache-2.0
"""The event action ``snapshot``: saves servers before a lease ends."""

from collections.abc import Mapping

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.plugins.event_actions import base as event_action
from nova_reservations.types import base


class Snapshot(event_action.EventAction):
    """Creates an image of each server, in the server's project."""

    def validate(self) -> None:
        if not self.cloud.servers.acts_for_projects():
            raise exception.InvalidInput(
                'before_end snapshot can not be offered: this Nova has no '
                '[service_user]; ask the operator'
            )

    def run(self, occasion: event_action.Occasion) -> base.Waiting | None:
        outcome = self.cloud.servers.snapshot_servers(
            [
                server
                for server in occasion.servers
                if not server.is_being_deleted
            ],
            ports.Order(
                ports.RequestKey(occasion.id),
                occasion.booking.check,
                occasion.booking.now,
            ),
        )
        if outcome.waiting:
            why = _said(outcome.waiting).after('Waiting for snapshots: ')
            return base.Waiting(why.told, detail=why.detail)
        if outcome.failed:
            why = _said(outcome.failed)
            raise exception.ServersRefused(
                what='A snapshot', reason=why.whole, told=why.told
            )
        return None


def _said(reasons: Mapping[str, objects.Reason]) -> objects.Reason:
    return objects.Reason.join(
        [
            reason.after(f'server {server}: ')
            for server, reason in sorted(reasons.items())
        ],
        base.MAX_TOLD,
    )
