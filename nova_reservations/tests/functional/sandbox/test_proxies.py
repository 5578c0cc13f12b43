# SPDX-License-Identifier: Apache-2.0
import contextlib
from http import server
import socket
import threading

import pytest
import requests

from sandbox import proxies


class Echo(server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'

    def do_PUT(self):
        sent = self.rfile.read(int(self.headers['Content-Length']))
        self.send_response(201)
        self.send_header('X-Version', self.headers['X-Version'])
        self.send_header('Content-Length', str(len(sent)))
        self.end_headers()
        self.wfile.write(sent)

    def log_message(self, *_):
        pass


@pytest.fixture
def echo():
    """The port of a server that answers with what it has received."""
    with server.ThreadingHTTPServer(('127.0.0.1', 0), Echo) as running:
        running.daemon_threads = True
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield running.server_address[1]
        running.shutdown()


@pytest.fixture
def wire(echo):
    with contextlib.closing(proxies.Wire('127.0.0.1', echo)) as wire:
        yield wire


@pytest.fixture
def front(echo):
    with contextlib.closing(proxies.Front(echo)) as front:
        yield front


def put(who, port, timeout=10):
    return who.put(
        f'http://127.0.0.1:{port}/x',
        data=b'text' * 100_000,
        headers={'X-Version': '1.36'},
        timeout=timeout,
    )


def assert_echo(answer):
    assert answer.status_code == 201
    assert answer.headers['X-Version'] == '1.36'
    assert answer.content == b'text' * 100_000


def test_a_wire_passes_everything_on(wire):
    assert_echo(put(requests, wire.port))


def test_a_wire_to_several_servers_leaves_out_one_that_takes_none(echo):
    with socket.create_server(('127.0.0.1', 0)) as gone:
        port = gone.getsockname()[1]
    with contextlib.closing(
        proxies.Wire('127.0.0.1', port, ('127.0.0.1', echo))
    ) as wire:
        for _ in range(3):
            assert_echo(put(requests, wire.port))


def test_a_wire_that_is_cut_ends_what_it_carries_and_heals(wire):
    with requests.Session() as session:
        assert_echo(put(session, wire.port))
        with wire.cut():
            for _ in range(2):
                with pytest.raises(requests.ConnectionError):
                    put(session, wire.port)
        assert_echo(put(session, wire.port))


def test_a_wire_that_hangs_passes_everything_on_later(wire):
    with requests.Session() as session:
        assert_echo(put(session, wire.port))
        with wire.hanging():
            for who in (session, requests):
                with pytest.raises(requests.Timeout):
                    put(who, wire.port, timeout=0.2)
        assert_echo(put(session, wire.port))


def test_a_slow_wire_passes_everything_on_later(wire):
    with wire.slow(0.01):
        answer = put(requests, wire.port)
    assert_echo(answer)
    assert answer.elapsed.total_seconds() > 0.02


def test_a_front_passes_everything_on(front):
    assert_echo(put(requests, front.port))


def test_a_front_refuses_what_it_is_told_to(front):
    with front.refusing(500, 'GET'):
        assert_echo(put(requests, front.port))
    with front.refusing(409, 'PUT', 'POST'):
        refusal = put(requests, front.port)
    assert refusal.status_code == 409
    assert refusal.json()['errors'][0]['status'] == 409
    assert_echo(put(requests, front.port))


def test_a_front_that_hangs_answers_later(front):
    with front.hanging(), pytest.raises(requests.Timeout):
        put(requests, front.port, timeout=0.2)
    assert_echo(put(requests, front.port))


def test_a_wire_says_something_else(wire):
    with wire.saying(b'1.36', b'1.39'):
        answer = put(requests, wire.port)
    assert answer.headers['X-Version'] == '1.39'
    assert_echo(put(requests, wire.port))


def test_words_that_a_wire_says_instead_are_as_long(wire):
    with pytest.raises(ValueError), wire.saying(b'no', b'yes'):
        pytest.fail('it is not')


def test_a_connection_from_an_outage_stays_half_open(front):
    with requests.Session() as session:
        put(session, front.port)
        with front.silent(), pytest.raises(requests.Timeout):
            put(requests, front.port, timeout=0.2)
        with pytest.raises(requests.Timeout):
            put(session, front.port, timeout=0.2)
    assert_echo(put(requests, front.port))
