# SPDX-License-Identifier: Apache-2.0
"""Proxies between the cloud and its services, which can cut connections."""

import collections
from collections.abc import Iterator
import contextlib
import http.client
import http.server
import itertools
import json
import socket
import threading
import time


class Wire:
    """Forwards TCP connections to a server that we can't stop. With several
    servers it takes them in turn, and skips those that accept no connection.

    :ivar delay: seconds by which each piece of data is delayed.
    :ivar instead: bytes that clients send -> others of the same length, which
        the server gets.
    """

    def __init__(self, host: str, port: int, *others: tuple[str, int]) -> None:
        self._servers = collections.deque([(host, port), *others])
        self._listener = socket.create_server(('127.0.0.1', 0), backlog=1024)
        self.port: int = self._listener.getsockname()[1]
        self.delay = 0.0
        self.instead: dict[bytes, bytes] = {}
        self._whole = threading.Event()
        self._whole.set()
        self._passes = threading.Event()
        self._passes.set()
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._passes.set()
        # Without a shutdown, accept() would not return.
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._hang_up()

    @contextlib.contextmanager
    def cut(self) -> Iterator[None]:
        """Close all connections, and allow no new ones meanwhile."""
        self._whole.clear()
        self._hang_up()
        try:
            yield
        finally:
            self._whole.set()

    @contextlib.contextmanager
    def hanging(self) -> Iterator[None]:
        """Accept connections and data, but forward them only afterwards."""
        self._passes.clear()
        try:
            yield
        finally:
            self._passes.set()

    @contextlib.contextmanager
    def slow(self, delay: float) -> Iterator[None]:
        self.delay = delay
        try:
            yield
        finally:
            self.delay = 0.0

    @contextlib.contextmanager
    def saying(self, words: bytes, instead: bytes) -> Iterator[None]:
        """Replace bytes in what clients send."""
        if len(words) != len(instead):
            raise ValueError('The length is sent before them')
        self.instead = {words: instead}
        try:
            yield
        finally:
            self.instead = {}

    def _hang_up(self) -> None:
        with self._lock:
            for each in self._open:
                # Only shut down: the thread that reads the socket closes it.
                with contextlib.suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            if not self._whole.is_set():
                client.close()
                continue
            server = self._connect()
            if server is None:
                client.close()
                continue
            with self._lock:
                self._open |= {client, server}
            # The wire may have been cut since the check above.
            if not self._whole.is_set():
                self._hang_up()
            for source, sink in ((client, server), (server, client)):
                threading.Thread(
                    target=self._pass, args=(source, sink), daemon=True
                ).start()

    def _connect(self) -> socket.socket | None:
        for _ in range(len(self._servers)):
            self._servers.rotate(-1)
            with contextlib.suppress(OSError):
                return socket.create_connection(self._servers[-1])
        return None

    def _pass(self, source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while piece := source.recv(65536):
                if self.delay:
                    time.sleep(self.delay)
                self._passes.wait()
                for words, instead in self.instead.items():
                    piece = piece.replace(words, instead)
                sink.sendall(piece)
        for each in (source, sink):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        with self._lock:
            self._open.discard(source)
        source.close()


class Front(http.server.ThreadingHTTPServer):
    """A proxy in front of an API, which can refuse requests, delay them, or
    never answer them."""

    daemon_threads = True
    request_queue_size = 1024

    def __init__(self, port: int) -> None:
        super().__init__(('127.0.0.1', 0), _Relay)
        self.port: int = self.server_address[1]
        self.upstream = port
        self.refusals: dict[str, int] = {}
        self.passes = threading.Event()
        self.passes.set()
        self.outages = itertools.count()
        self.outage = next(self.outages)
        self.is_silent = False
        self.closing = threading.Event()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def close(self) -> None:
        self.passes.set()
        self.closing.set()
        self.shutdown()
        self.server_close()

    @contextlib.contextmanager
    def refusing(self, status: int, *methods: str) -> Iterator[None]:
        """Answer requests of these methods with an error."""
        self.refusals = dict.fromkeys(methods, status)
        try:
            yield
        finally:
            self.refusals = {}

    @contextlib.contextmanager
    def hanging(self) -> Iterator[None]:
        """Hold all requests, and answer them afterwards."""
        self.passes.clear()
        try:
            yield
        finally:
            self.passes.set()

    @contextlib.contextmanager
    def silent(self) -> Iterator[None]:
        """Accept connections and requests, and answer nothing. Connections
        that were open meanwhile are never answered any more: they are half
        open, as after the failure of a firewall."""
        self.outage = next(self.outages)
        self.is_silent = True
        try:
            yield
        finally:
            self.outage = next(self.outages)
            self.is_silent = False

    def handle_error(self, *_: object) -> None:
        """Do nothing: clients that disconnect are expected here."""


class _Relay(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    # Seconds after which a connection is closed that nobody uses, as web
    # servers do.
    timeout = 5
    server: Front

    def setup(self) -> None:
        super().setup()
        self._outage = self.server.outage

    def handle(self) -> None:
        super().handle()
        if self._is_half_open():
            self.server.closing.wait()

    def _is_half_open(self) -> bool:
        return self.server.is_silent or self._outage != self.server.outage

    def _relay(self) -> None:
        if self._is_half_open():
            self.close_connection = True
            return
        length = int(self.headers.get('Content-Length', 0))
        sent = self.rfile.read(length)
        status = self.server.refusals.get(self.command)
        if status is not None:
            self._answer(status, _refusal(status))
            return
        self.server.passes.wait()
        upstream = http.client.HTTPConnection(
            '127.0.0.1', self.server.upstream
        )
        try:
            upstream.request(
                self.command, self.path, sent, dict(self.headers.items())
            )
            answer = upstream.getresponse()
            self._answer(answer.status, answer.read(), answer.getheaders())
        except OSError:
            self.close_connection = True
        finally:
            upstream.close()

    do_GET = do_PUT = do_POST = do_DELETE = _relay

    def _answer(
        self,
        status: int,
        content: bytes,
        headers: list[tuple[str, str]] | None = None,
    ) -> None:
        self.send_response(status)
        for name, value in headers or [('Content-Type', 'application/json')]:
            if name.lower() not in (
                'connection',
                'content-length',
                'transfer-encoding',
            ):
                self.send_header(name, value)
        self.send_header('Content-Length', str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Do nothing: the API itself logs its requests."""


def _refusal(status: int) -> bytes:
    """Return the body of an error in placement's format."""
    error = {
        'status': status,
        'code': 'placement.concurrent_update',
        'title': 'Conflict' if status == 409 else 'Internal Server Error',
        'detail': 'This is a fault that is tried on purpose.',
    }
    return json.dumps({'errors': [error]}).encode()
