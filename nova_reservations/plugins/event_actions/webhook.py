# SPDX-License-Identifier: Apache-2.0
"""The event action ``webhook``: tells a service that a lease ends soon.

It sends a signed POST to the addresses that the operator has configured, and
to no others: users can not give an address, and redirects are not followed.
"""

from collections.abc import Sequence
import datetime
import hashlib
import hmac
import json
from urllib import parse

from oslo_log import log
import requests

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.plugins.event_actions import base

LOG = log.getLogger(__name__)

TIMEOUT = (3, 5)
"""Seconds to wait for the connection, and for the first byte of an answer."""

ID = 'X-Reservations-Id'
TIMESTAMP = 'X-Reservations-Timestamp'
SIGNATURE = 'X-Reservations-Signature'


class Webhook(base.EventAction):
    def validate(self) -> None:
        group = self.conf.reservations
        if not (group.webhook_addresses and group.webhook_secret):
            raise exception.InvalidInput(
                'before_end webhook is not set up; ask the operator'
            )

    def announce(self, occasion: base.Occasion) -> Sequence[base.Announcement]:
        try:
            self.validate()
        except exception.InvalidInput as error:
            raise exception.CloudRefused(
                what='The webhook', reason='it is not set up any more'
            ) from error
        body = json.dumps(_body(occasion), sort_keys=True)
        return [
            base.Announcement(_destination(address), body)
            for address in self.conf.reservations.webhook_addresses
        ]

    def send(self, message: objects.Message, now: datetime.datetime) -> None:
        group = self.conf.reservations
        addresses = {
            _destination(address): address
            for address in group.webhook_addresses
        }
        address = addresses.get(message.destination)
        if address is None or not group.webhook_secret:
            raise exception.CloudRefused(
                what='The webhook', reason='it is not set up any more'
            )
        body = message.body.encode()
        stamp = str(int(now.timestamp()))
        headers = {
            'Content-Type': 'application/json',
            ID: message.id,
            TIMESTAMP: stamp,
            SIGNATURE: sign(group.webhook_secret, stamp, body),
        }
        if not _post(address, body, headers):
            raise exception.CloudRefused(
                what='The webhook',
                reason='one of its addresses did not accept it',
            )


def sign(secret: str, stamp: str, body: bytes) -> str:
    """Return the signature: HMAC-SHA256 of the time, a dot, and the body."""
    message = stamp.encode() + b'.' + body
    digest = hmac.new(secret.encode(), message, hashlib.sha256).hexdigest()
    return f'sha256={digest}'


def _post(address: str, body: bytes, headers: dict[str, str]) -> bool:
    try:
        with requests.Session() as session:
            # Use no password from .netrc, and no proxy from the environment.
            session.trust_env = False
            with session.post(
                address,
                data=body,
                headers=headers,
                timeout=TIMEOUT,
                allow_redirects=False,
                # Do not read the body of the answer.
                stream=True,
            ) as answer:
                status = answer.status_code
    except requests.RequestException as error:
        # The text of the error contains the address, which may have
        # credentials.
        LOG.warning(
            'The webhook at %(host)s failed: %(error)s',
            {'host': _host(address), 'error': type(error).__name__},
        )
        return False
    if not 200 <= status < 300:
        LOG.warning(
            'The webhook at %(host)s answered %(status)d',
            {'host': _host(address), 'status': status},
        )
        return False
    return True


def _destination(address: str) -> str:
    """Return what identifies an address in the database, which must not have
    credentials: its host, and a digest."""
    digest = hashlib.sha256(address.encode()).hexdigest()
    return f'{_host(address)[:180]} {digest}'


def _host(address: str) -> str:
    """Return the part of an address that may be logged: the user, the path
    and the query may contain credentials."""
    try:
        found = parse.urlsplit(address)
        port = f':{found.port}' if found.port else ''
    except ValueError:
        return 'an address that is no URL'
    return f'{found.hostname}{port}'


def _body(occasion: base.Occasion) -> dict[str, object]:
    lease = occasion.booking.lease
    return {
        'event_type': 'lease.event.before_end_lease',
        'lease': {
            'id': lease.id,
            'name': lease.name,
            'project_id': lease.project_id,
            'user_id': lease.user_id,
            'start_date': lease.start_date.isoformat(),
            'end_date': lease.end_date.isoformat(),
        },
        'reservation': {
            'id': occasion.booking.reservation.id,
            'end_action': occasion.ending,
        },
        'servers': sorted({server.uuid for server in occasion.servers}),
    }
