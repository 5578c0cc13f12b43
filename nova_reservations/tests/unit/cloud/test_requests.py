# SPDX-License-Identifier: Apache-2.0
"""A request for many servers checks repeatedly which hosts are up."""

from concurrent import futures
import datetime
import threading

from keystoneauth1 import exceptions as ks_exc
import oslo_messaging
import pytest

from nova_reservations import exception
from nova_reservations import ports
from nova_reservations.cloud.servers import requests

NOON = datetime.datetime(2030, 1, 1, 12, tzinfo=datetime.UTC)
SECOND = datetime.timedelta(seconds=1)


class Hosts:
    """:ivar looks: the times at which compute services were asked for."""

    def __init__(self):
        self.up = True
        self.looks = []

    def compute_services(self, now, hosts):
        self.looks.append(now)
        return {
            host: ports.ComputeService(self.up, False, False) for host in hosts
        }


def test_a_host_is_looked_at_once_in_a_second():
    hosts = Hosts()
    nova = requests.Nova(hosts)
    for part in range(10):
        assert nova.host_is_up('one', NOON + SECOND * part / 10)
    assert hosts.looks == [NOON]


def test_a_host_that_fails_meanwhile_is_seen_a_second_later():
    hosts = Hosts()
    nova = requests.Nova(hosts)
    assert nova.host_is_up('one', NOON)
    hosts.up = False
    assert not nova.host_is_up('one', NOON + SECOND)


def test_a_host_of_a_cell_that_hangs_delays_no_other():
    hosts, back = Hosts(), threading.Event()
    answer = hosts.compute_services

    def ask(now, names):
        if names == ['hung']:
            assert back.wait(30)
        return answer(now, names)

    hosts.compute_services = ask
    nova = requests.Nova(hosts)
    with futures.ThreadPoolExecutor(2) as pool:
        hung = pool.submit(nova.host_is_up, 'hung', NOON)
        other = pool.submit(nova.host_is_up, 'other', NOON)
        try:
            assert other.result(5)
        finally:
            back.set()
        assert hung.result(30)


def test_a_server_is_not_changed_for_who_has_lost_its_lease():
    """Answers that were read before may have taken an hour to come."""
    nova, standing = requests.Nova(Hosts()), [True, False]

    def check():
        if not standing.pop(0):
            raise exception.ClaimLost(id='lease', worker='late')

    server = ports.Server('uuid', 'project', 'one', 'active')
    with pytest.raises(exception.ClaimLost):
        requests.each(lambda uuid: nova.compute_api, [server], check)
    assert standing == []


@pytest.mark.parametrize(
    'error', [ks_exc.ConnectTimeout(), oslo_messaging.MessageDeliveryFailure()]
)
def test_an_answer_that_does_not_come_is_no_failure_of_a_server(error):
    """Nobody knows whether it was done: it is looked at again."""

    def ask(uuid):
        if uuid == 'silent':
            raise error

    servers = [
        ports.Server(uuid, 'project', 'one', 'active')
        for uuid in ('other', 'silent')
    ]
    outcome = requests.each(ask, servers, lambda: None)
    assert outcome.failed == {}
    assert [*outcome.waiting] == ['silent']


@pytest.mark.parametrize(
    'service, is_silent',
    [
        (ports.ComputeService(True, False, False), False),
        (ports.ComputeService(False, False, False), True),
        (ports.ComputeService(False, True, False), True),
        (ports.ComputeService(False, False, True), False),
        (ports.ComputeService(True, False, True), False),
        (ports.GONE, False),
        (None, True),
    ],
)
def test_guests_may_run_unseen_where_nobody_is_heard(service, is_silent):
    hosts = Hosts()
    hosts.compute_services = lambda now, names: (
        {} if service is None else dict.fromkeys(names, service)
    )
    nova = requests.Nova(hosts)
    assert nova.host_is_silent('one', NOON) == is_silent


def test_the_time_goes_on_from_that_of_the_step(monkeypatch):
    seconds = 5.0
    monkeypatch.setattr(requests.time, 'monotonic', lambda: seconds)
    clock = requests.running(NOON)
    assert clock() == NOON
    seconds = 95.0
    assert clock() == NOON + 90 * SECOND
