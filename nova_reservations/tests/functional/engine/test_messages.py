# SPDX-License-Identifier: Apache-2.0
"""Messages before the end are sent beside the leases, once, and again after a
failure."""

from concurrent import futures
import contextlib
import smtplib
import threading

import pytest
import sqlalchemy as sa

from nova_reservations import exception
from nova_reservations.api.views import leases as views
from nova_reservations.db import models
from nova_reservations.engine.worker import senders
from nova_reservations.testing import addresses
from nova_reservations.testing.addresses import asked
from nova_reservations.testing.region import minutes
from nova_reservations.testing.region import NOON
from nova_reservations.testing.steps import Steps
from nova_reservations.tests.functional.engine import test_crashes

MAIL = {
    'default_before_end': 'email',
    'email_server': 'mail',
    'email_from': 'leases@example.org',
    'email_to': '{user_id}@example.org',
    'email_starttls': False,
}


class Post:
    """A mail server.

    :ivar sent: the mails that it has accepted, at which minute.
    :ivar asked: how often somebody has connected.
    :ivar goes_on: it answers; while this is not set it accepts connections,
        and says nothing.
    """

    def __init__(self) -> None:
        self.sent = []
        self.asked = []
        self.is_down = False
        self.goes_on = threading.Event()
        self.goes_on.set()
        self.minute = lambda: 0
        self.before = lambda: None

    def __call__(self, host, port, timeout):
        self.asked.append(self.minute())
        assert self.goes_on.wait(30)
        if self.is_down:
            raise ConnectionRefusedError('mail')
        return self

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def send_message(self, mail):
        self.before()
        self.sent.append(mail)


@pytest.fixture
def post(monkeypatch):
    post = Post()
    monkeypatch.setattr(smtplib, 'SMTP', post)
    yield post
    post.goes_on.set()


@pytest.fixture
def region(make_region, post):
    region = make_region(
        *(f'host-{number}' for number in range(6)),
        types=addresses.TYPES,
        monitors=addresses.MONITORS,
        overrides=MAIL,
    )
    addresses.enrol(region, 101, 102)
    post.minute = lambda: round((region.now - NOON).total_seconds() / 60)
    return region


def warning(region, lease):
    return str(region.see(lease).event('before_end_lease').status)


def shown(region, lease):
    seen = region.see(lease)
    return views.show(seen, lambda _: {}, in_full=False)['status_reason']


def waiting(region):
    """Return how many messages are not sent."""
    with region.database.reader() as session:
        return session.scalar(
            sa.select(sa.func.count()).select_from(models.Message)
        )


def test_a_silent_mail_server_delays_no_start(region, post):
    for _ in range(4):
        region.lease(end=120)
    region.forward(until=59)
    late = region.lease(start=2, end=60)
    post.goes_on.clear()
    worker = region.worker(threads=2)
    for minute in (60, 60, 60, 61, 61):
        region.now = NOON + minutes(minute)
        worker.tick(region.now)
        futures.wait([*worker._held], 2)
    assert region.status(late) == 'ACTIVE'
    assert len(post.asked) == senders.AT_ONCE
    post.goes_on.set()
    region.work(worker)
    assert len(post.sent) == 5
    assert waiting(region) == 0


def test_a_mail_that_failed_is_sent_after_growing_pauses(region, post):
    lease = region.lease(end=120)
    post.is_down = True
    region.forward(until=80)
    assert post.asked == [60, 61, 66]
    assert warning(region, lease) == 'DONE'
    post.is_down = False
    region.forward(until=119)
    assert post.asked == [60, 61, 66, 81]
    assert len(post.sent) == 1
    assert waiting(region) == 0
    assert shown(region, lease) is None


def test_a_message_is_given_up_at_the_end_and_says_so(region, post):
    lease = region.lease(end=120)
    post.is_down = True
    region.forward(until=125)
    assert post.asked == [60, 61, 66, 81]
    assert region.status(lease) == 'TERMINATED'
    assert warning(region, lease) == 'ERROR'
    assert 'The e-mail was refused: it could not be sent' in shown(
        region, lease
    )
    assert region.told(lease).count('event.before_end_lease.error') == 1
    assert waiting(region) == 0


def test_a_message_that_was_written_late_is_tried_all_the_same(region, post):
    region.lease(end=120)
    region.forward(until=59)
    region.now = NOON + minutes(121)
    region.work()
    assert len(post.sent) == 1


def delete(region, lease):
    region.delete(lease)


def end_later(region, lease):
    region.change(lease, end=200)


def end_at_once(region, lease):
    region.change(lease, end=0.1)


def ask_for_nothing(region, lease):
    region.change(lease, before_end='')


@pytest.mark.parametrize(
    'change', [delete, end_later, end_at_once, ask_for_nothing]
)
def test_a_message_that_is_untrue_by_now_is_not_sent(region, post, change):
    lease = region.lease(end=120)
    post.is_down = True
    region.forward(until=60.5)
    assert waiting(region) == 1
    if change is ask_for_nothing:
        [reservation] = lease.reservations
        with region.database.writer() as session:
            row = session.get(models.Reservation, reservation.id)
            row.params = {**row.params, 'before_end': ''}
    else:
        change(region, lease)
    post.is_down = False
    region.forward(until=62)
    assert post.sent == []
    assert waiting(region) == 0
    if change is end_later:
        region.forward(until=205)
        assert len(post.sent) == 1
        assert '2030-01-01 16:20' in post.sent[0].get_content()


def test_a_lease_without_servers_is_told_of_as_well(region, post):
    lease = region.lease_of(asked(2), end=120)
    region.forward(until=61)
    [mail] = post.sent
    assert lease.id in mail.get_content()
    assert warning(region, lease) == 'DONE'


def test_a_lease_of_hosts_and_addresses_has_one_mail(region, post):
    region.lease_of(('physical:host', {'min': 1, 'max': 1}), asked(1), end=120)
    region.forward(until=61)
    assert len(post.sent) == 1


def test_a_silent_destination_keeps_nothing_from_others(region, post):
    for _ in range(4):
        region.lease(end=120)
    region.forward(until=59)
    post.is_down = True
    region.forward(until=60)
    with region.database.writer() as session:
        # One of the messages is for another server.
        row = session.scalars(sa.select(models.Message)).first()
        row.destination = 'another'
        row.due_at = NOON + minutes(70)
    post.is_down = False
    post.goes_on.clear()
    region.now = NOON + minutes(75)
    worker = region.worker()
    worker.tick(region.now)
    begun = [sending.due for sending in worker._senders._sending.values()]
    post.goes_on.set()
    worker.drain()
    assert sorted(due.destination for due in begun) == [
        'another',
        'mail:25',
        'mail:25',
    ]


@pytest.mark.fuzz
def test_a_worker_that_is_killed_costs_no_message_and_hardly_doubles_any(
    make_region, post
):
    """A mail is sent twice only if the worker is killed after the server's
    answer and before the record of it."""
    for number in range(1, 20):
        region = make_region('one', overrides=MAIL)
        post.sent.clear()
        post.before = lambda region=region: region.cloud.before('mail')
        lease = region.lease(end=120)
        region.forward(until=59.99)
        region.now = NOON + minutes(60)
        with Steps(region, number, test_crashes.kill) as steps:
            victim = region.worker('victim')
            for _ in range(3):
                with contextlib.suppress(test_crashes.Killed):
                    victim.tick(region.now)
                victim.drain()
                region.now += minutes(0.02)
                if steps.reached:
                    break
        region.forward(until=119, by=region.worker('other'))
        answered = steps.taken[-2:] == ['mail', 'record']
        assert len(post.sent) == 1 + (steps.reached and answered), number
        assert waiting(region) == 0
        assert warning(region, lease) == 'DONE'
        if not steps.reached:
            break
    assert number >= 6


def test_a_mail_whose_record_fails_is_not_sent_again(region, post):
    region.lease(end=120)
    region.forward(until=59.99)
    region.now = NOON + minutes(60)
    failing = [exception.DatabaseUnavailable(reason='gone')]

    def before(step):
        if post.sent and failing:
            raise failing.pop()

    worker = region.worker()
    region.database.before = before
    for _ in range(3):
        worker.tick(region.now)
        worker.drain()
    region.database.before = lambda step: None
    assert not failing
    assert waiting(region) == 0
    region.forward(until=119, by=worker)
    assert len(post.sent) == 1
