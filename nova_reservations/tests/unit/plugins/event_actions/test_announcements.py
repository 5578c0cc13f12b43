# SPDX-License-Identifier: Apache-2.0
"""The event actions webhook and email, and one from another package."""

import dataclasses
import hashlib
import hmac
from http import server
import json
import smtplib
import threading
from typing import ClassVar

import pytest

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.plugins.event_actions import base as event_action
from nova_reservations.plugins.event_actions import email
from nova_reservations.plugins.event_actions import offered
from nova_reservations.plugins.event_actions import webhook
from nova_reservations.testing import fake_cloud
from nova_reservations.tests.unit.engine import test_steps
from nova_reservations.tests.unit.types import test_types
from nova_reservations.types import base

SECRET = 'a shared secret'


@pytest.fixture
def occasion():
    booking = base.Booking(
        lease=test_steps.lease('ACTIVE'),
        reservation=test_types.RESERVATION,
        resources=(),
        slots={},
        servers=frozenset(),
        prepared=True,
        settled=False,
        check=lambda: None,
        warned_at=test_steps.NOON,
        now=test_steps.NOON,
    )
    return event_action.Occasion(
        'an occasion',
        booking,
        lambda: [ports.Server('s', 'p', 'one', 'active')],
        ending='delete',
    )


def message(announced):
    return objects.Message(
        'an-id',
        'lease',
        'reservation',
        'an action',
        announced.destination,
        announced.body,
        'before_end_lease',
        test_steps.NOON,
        test_steps.NOON,
        None,
    )


def send(action, occasion):
    [announced] = action.announce(occasion)
    action.send(message(announced), test_steps.NOON)


class Receiver:
    """A web server that answers with a given status, and keeps requests."""

    def __init__(self) -> None:
        self.status = 204
        self.got: list[tuple[str, dict[str, str], bytes]] = []
        receiver = self

        class Handler(server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers['Content-Length']))
                receiver.got.append((self.path, dict(self.headers), body))
                self.send_response(receiver.status)
                if receiver.status == 307:
                    self.send_header('Location', '/elsewhere')
                self.send_header('Content-Length', '0')
                self.end_headers()

            def log_message(self, *args):
                """Say nothing."""

        self._server = server.HTTPServer(('127.0.0.1', 0), Handler)
        threading.Thread(target=self._server.serve_forever).start()
        self.url = f'http://127.0.0.1:{self._server.server_port}/hook'

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def receiver():
    receiver = Receiver()
    yield receiver
    receiver.close()


@pytest.fixture
def hook(opts, receiver):
    opts.set_override('webhook_addresses', [receiver.url], 'reservations')
    opts.set_override('webhook_secret', SECRET, 'reservations')
    return webhook.Webhook(fake_cloud.FakeCloud(), opts)


class TestWebhook:
    def test_the_secret_tells_who_a_message_is_from(
        self, hook, receiver, occasion
    ):
        send(hook, occasion)
        [(path, headers, body)] = receiver.got
        assert path == '/hook'
        stamp = headers[webhook.TIMESTAMP]
        assert int(stamp) == test_steps.NOON.timestamp()
        digest = hmac.new(
            SECRET.encode(), f'{stamp}.'.encode() + body, hashlib.sha256
        )
        assert headers[webhook.SIGNATURE] == f'sha256={digest.hexdigest()}'
        told = json.loads(body)
        assert told['lease']['id'] == 'lease'
        assert told['servers'] == ['s']

    def test_a_repetition_has_the_same_id(self, hook, receiver, occasion):
        send(hook, occasion)
        send(hook, occasion)
        assert {headers[webhook.ID] for _, headers, _ in receiver.got} == {
            'an-id'
        }

    def test_a_redirect_is_not_followed(self, hook, receiver, occasion):
        receiver.status = 307
        with pytest.raises(exception.CloudRefused):
            send(hook, occasion)
        assert [path for path, _, _ in receiver.got] == ['/hook']

    def test_an_address_has_a_message_of_its_own(
        self, hook, receiver, occasion, opts
    ):
        addresses = ['http://user:pass-word@127.0.0.1:1/pa-th', receiver.url]
        opts.set_override('webhook_addresses', addresses, 'reservations')
        broken, sound = hook.announce(occasion)
        assert 'word' not in broken.destination
        assert 'pa-th' not in broken.destination
        assert broken.destination.startswith('127.0.0.1:1 ')
        with pytest.raises(exception.CloudRefused):
            hook.send(message(broken), test_steps.NOON)
        hook.send(message(sound), test_steps.NOON)
        assert len(receiver.got) == 1

    def test_an_address_that_is_taken_away_gets_nothing_more(
        self, hook, receiver, occasion, opts
    ):
        [announced] = hook.announce(occasion)
        opts.set_override('webhook_addresses', [], 'reservations')
        with pytest.raises(exception.CloudRefused, match='not set up'):
            hook.send(message(announced), test_steps.NOON)
        with pytest.raises(exception.CloudRefused, match='not set up'):
            hook.announce(occasion)
        assert receiver.got == []

    @pytest.mark.parametrize('name', ['webhook_addresses', 'webhook_secret'])
    def test_a_webhook_can_not_be_asked_for_where_it_is_not_set_up(
        self, hook, opts, name
    ):
        opts.clear_override(name, 'reservations')
        with pytest.raises(exception.InvalidInput, match='operator'):
            hook.validate()


class Postman:
    """Replaces smtplib.SMTP, and keeps the messages."""

    sent: ClassVar[list] = []

    def __init__(self, *where, timeout):
        self.where = where

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def starttls(self, context):
        assert context.check_hostname

    def send_message(self, message):
        self.sent.append((self.where, message))


@pytest.fixture
def post(opts, monkeypatch):
    monkeypatch.setattr(smtplib, 'SMTP', Postman)
    Postman.sent.clear()
    for name, value in {
        'email_server': 'mail.example.org',
        'email_from': 'leases@example.org',
        'email_to': '{user_id}@example.org',
    }.items():
        opts.set_override(name, value, 'reservations')
    return email.Mail(fake_cloud.FakeCloud(), opts)


class TestMail:
    def test_a_mail_says_which_lease_ends_when(self, post, occasion):
        send(post, occasion)
        [(where, message)] = Postman.sent
        assert where == ('mail.example.org', 25)
        assert message['To'] == 'u@example.org'
        text = message.get_content()
        assert '"a lease" (lease)' in text
        assert 'ends at 2030-01-01 14:30:00 UTC' in text

    def test_a_mail_goes_through_the_database_as_it_is(self, post, occasion):
        lease = dataclasses.replace(
            occasion.booking.lease, name='\u00fc \u2713'
        )
        booking = dataclasses.replace(occasion.booking, lease=lease)
        send(post, dataclasses.replace(occasion, booking=booking))
        [(_, mail)] = Postman.sent
        assert '"\u00fc \u2713" (lease)' in mail.get_content()
        assert mail.as_bytes().isascii()
        assert mail['Message-ID'] == '<an-id@nova-reservations>'

    def test_nobody_gets_a_header_into_it(self, post, occasion):
        lease = dataclasses.replace(
            occasion.booking.lease, user_id='u\nBcc: all'
        )
        occasion = dataclasses.replace(
            occasion,
            booking=dataclasses.replace(occasion.booking, lease=lease),
        )
        with pytest.raises(exception.CloudRefused):
            send(post, occasion)
        assert Postman.sent == []

    def test_a_server_that_is_down_is_a_failure(
        self, post, occasion, monkeypatch
    ):
        def refuse(*args, **kwargs):
            raise ConnectionRefusedError('mail.example.org')

        monkeypatch.setattr(smtplib, 'SMTP', refuse)
        with pytest.raises(exception.CloudRefused) as refusal:
            send(post, occasion)
        assert 'mail.example.org' not in str(refusal.value)


class TestWhatIsInstalled:
    def test_an_action_that_is_not_stops_the_process(self, opts):
        opts.set_override('before_end_actions', ['compress'], 'reservations')
        with pytest.raises(exception.UnknownEventAction, match='compress'):
            offered.Actions(fake_cloud.FakeCloud(), opts)

    def test_actions_that_the_operator_offers_can_be_asked_for(
        self, opts, hook
    ):
        opts.set_override('before_end_actions', ['webhook'], 'reservations')
        actions = offered.Actions(fake_cloud.FakeCloud(), opts)
        assert actions.validate({'before_end': 'webhook'}) == {
            'before_end': 'webhook'
        }

    def test_messages_to_one_destination_have_ids_of_their_own(
        self, opts, occasion, monkeypatch
    ):
        """Of what is told twice there is one message."""
        actions = offered.Actions(fake_cloud.FakeCloud(), opts)
        told = [
            event_action.Announcement(*each)
            for each in (('a', 'x'), ('a', 'y'), ('a', 'x'), ('b', 'x'))
        ]
        monkeypatch.setattr(
            event_action.EventAction, 'announce', lambda *_: told
        )
        first, second, other = actions.announce(occasion)
        assert (first.body, second.body, other.destination) == ('x', 'y', 'b')
        assert len({first.id, second.id, other.id}) == 3
