# SPDX-License-Identifier: Apache-2.0
"""The event action ``email``: tells people that a lease ends soon."""

from collections.abc import Sequence
import datetime
import email
from email import policy
from email.message import EmailMessage
from email.message import Message
import smtplib
import ssl

from oslo_log import log

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.plugins.event_actions import base

LOG = log.getLogger(__name__)

TIMEOUT = 10
"""Seconds to wait for each answer of the mail server."""

_TEXT = """\
The lease "{name}" ({id}) of project {project_id} ends at {end} UTC.

At its end its servers will be handled so: {action}. There are {servers} of
them in this reservation ({reservation}). Save what you need before, or prolong
the lease.
"""


class Mail(base.EventAction):
    def validate(self) -> None:
        group = self.conf.reservations
        if not (group.email_server and group.email_from and group.email_to):
            raise exception.InvalidInput(
                'before_end email is not set up; ask the operator'
            )

    def announce(self, occasion: base.Occasion) -> Sequence[base.Announcement]:
        group = self.conf.reservations
        try:
            self.validate()
            text = self._message(occasion).as_string()
        # A value that is not allowed in a header raises ValueError.
        except (exception.InvalidInput, ValueError) as error:
            LOG.warning('The e-mail can not be written', exc_info=True)
            raise exception.CloudRefused(
                what='The e-mail', reason='it could not be written'
            ) from error
        destination = f'{group.email_server}:{group.email_port}'
        return [base.Announcement(destination[:255], text)]

    def send(self, message: objects.Message, now: datetime.datetime) -> None:
        mail = email.message_from_string(message.body, policy=policy.default)
        # Receivers recognise a repetition by it.
        mail['Message-ID'] = f'<{message.id}@nova-reservations>'
        try:
            self._send(mail)
        except (smtplib.SMTPException, OSError) as error:
            LOG.warning('The e-mail was not sent', exc_info=True)
            raise exception.CloudRefused(
                what='The e-mail', reason='it could not be sent'
            ) from error

    def _message(self, occasion: base.Occasion) -> EmailMessage:
        group = self.conf.reservations
        lease = occasion.booking.lease
        reservation = occasion.booking.reservation
        mail = EmailMessage()
        mail['From'] = group.email_from
        mail['To'] = group.email_to.format(
            user_id=lease.user_id, project_id=lease.project_id
        )
        # The user can give the lease any name, so the name is only in the
        # text of the mail.
        mail['Subject'] = f'Lease {lease.id} ends soon'
        mail.set_content(
            _TEXT.format(
                name=lease.name,
                id=lease.id,
                project_id=lease.project_id,
                end=f'{lease.end_date:%Y-%m-%d %H:%M:%S}',
                action=occasion.ending,
                servers=len({server.uuid for server in occasion.servers}),
                reservation=reservation.id,
            ),
            # The text of the whole mail is kept in the database.
            cte='quoted-printable',
        )
        return mail

    def _send(self, mail: Message) -> None:
        group = self.conf.reservations
        with smtplib.SMTP(
            group.email_server, group.email_port, timeout=TIMEOUT
        ) as server:
            if group.email_starttls:
                server.starttls(context=ssl.create_default_context())
            if group.email_username:
                server.login(group.email_username, group.email_password or '')
            server.send_message(mail)
