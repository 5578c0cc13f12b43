# SPDX-License-Identifier: Apache-2.0
"""Two workers find the same messages due, and each is sent once."""

from concurrent import futures
import smtplib

import pytest
import sqlalchemy as sa

from nova_reservations.db import models
from nova_reservations.testing import region as regions
from nova_reservations.testing.region import minutes
from nova_reservations.tests.functional.engine import test_messages

LEASES = 12


@pytest.fixture
def region(any_database, monkeypatch):
    post = test_messages.Post()
    monkeypatch.setattr(smtplib, 'SMTP', post)
    region = regions.Region(
        any_database.url,
        *(f'host-{number}' for number in range(LEASES)),
        overrides=test_messages.MAIL,
    )
    region.post = post
    yield region
    region.close()


def test_a_message_that_two_workers_find_is_sent_once(region):
    for _ in range(LEASES):
        region.lease(end=120)
    region.work()
    region.now += minutes(60)
    workers = [region.worker(name) for name in ('one', 'two')]

    def work(worker):
        while region._is_due():
            worker.tick(region.now)
            worker.drain()

    with futures.ThreadPoolExecutor() as pool:
        list(pool.map(work, workers))
    told = [mail['Message-ID'] for mail in region.post.sent]
    assert len(told) == len(set(told)) == LEASES
    with region.database.reader() as session:
        assert session.scalars(sa.select(models.Message)).all() == []
