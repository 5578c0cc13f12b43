# SPDX-License-Identifier: Apache-2.0
"""The event action ``webhook``: tells a service that a lease ends soon.

It sends a signed POST to the addresses that the operator has configured, and
to no others: users can not give an address, and redirects are not followed.
"""

import hashlib
import hmac
import json
from urllib import parse
import uuid

from oslo_log import log
import requests

from nova_reservations import exception
from nova_reservations.plugins.event_actions import base

LOG = log.getLogger(__name__)

TIMEOUT = (3, 5)
"""Seconds to wait for the connection, and for the first byte of an answer."""

ID = 'X-Reservations-Id'
TIMESTAMP = 'X-Reservations-Timestamp'
SIGNATURE = 'X-Reservations-Signature'

_NAMESPACE = uuid.UUID('0a8f2b0c-5f5e-4b45-9d0f-2f3f2d6a7c11')


class Webhook(base.EventAction):
    def validate(self) -> None:
        group = self.conf.reservations
        if not (group.webhook_addresses and group.webhook_secret):
            raise exception.InvalidInput(
                'before_end webhook is not set up; ask the operator'
            )

    def tell(self, occasion: base.Occasion) -> None:
        self.validate()
        booking = occasion.booking
        body = json.dumps(_body(occasion), sort_keys=True).encode()
        stamp = str(int(booking.now.timestamp()))
        secret = self.conf.reservations.webhook_secret
        headers = {
            'Content-Type': 'application/json',
            ID: str(uuid.uuid5(_NAMESPACE, occasion.id)),
            TIMESTAMP: stamp,
            SIGNATURE: sign(secret, stamp, body),
        }
        failed = []
        for address in self.conf.reservations.webhook_addresses:
            booking.check()
            if not _post(address, body, headers):
                failed.append(address)
        if failed:
            raise exception.CloudRefused(
                what='The webhook',
                reason=f'{len(failed)} of its addresses did not accept it',
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
