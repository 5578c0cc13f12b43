# SPDX-License-Identifier: Apache-2.0
"""Metrics of the service, read by a Prometheus."""

from collections.abc import Iterator
import contextlib
import functools
from http import server
import operator
import pathlib
import shutil
import socket
import subprocess
import threading
from typing import Any

import requests

from sandbox import person
from sandbox import story
from sandbox.polls import until
from sandbox.stories import commands
from sandbox.stories import planned
from sandbox.story import expect

_PROJECT = pathlib.Path(__file__).parents[2]

_CONFIG = """
global: {{scrape_interval: 200ms}}
scrape_configs:
  - job_name: reservations
    metrics_path: /metrics.prom
    static_configs: [{{targets: ['127.0.0.1:{port}']}}]
"""


class Scraped(planned.Planned):
    """The chapters, in the order in which they are told."""

    def __init__(self, auth_url: str, timeline: story.Timeline) -> None:
        super().__init__(auth_url, timeline)
        self.directory = timeline.directory / 'prometheus'

    def tell(self) -> None:
        with self.step('there is a Prometheus'):
            program = _installed()
        self.directory.mkdir()
        with self.step('metrics are written for node_exporter') as seen:
            self.lease(self.demo, 1, 2, 2)
            written = self.directory / 'metrics.prom'
            commands.metrics(self.directory.parent / 'etc', written)
            seen(f'{len(written.read_text().splitlines())} lines')
        with (
            _served(self.directory) as port,
            _prometheus(program, self.directory, port) as api,
        ):
            for query, value in (
                ('nova_reservations_hosts', len(self.hosts)),
                ('nova_reservations_leases{status="PENDING"}', 1),
            ):
                with self.step(f'Prometheus says: {query}') as seen:
                    until(
                        str(value),
                        functools.partial(_asked, api, query),
                        functools.partial(operator.eq, [value]),
                    )
                    seen(str(value))
            with self.step('Prometheus has all that was written') as seen:
                names = _names(written.read_text())
                missing = [each for each in names if not _asked(api, each)]
                expect('missing', [], missing)
                seen(f'{len(names)} metrics')
        self.clean_up()


def _installed() -> str:
    """Return the path of Prometheus.

    :raises CalledProcessError: if it is not installed; the tool says so
    """
    subprocess.run([_PROJECT / 'tools' / 'prometheus'], check=True)
    return str(shutil.which('prometheus'))


def _names(text: str) -> set[str]:
    """Return the names of the metrics that have a value."""
    return {
        line.replace('{', ' ').split()[0]
        for line in text.splitlines()
        if not line.startswith('#')
    }


def _asked(api: str, query: str) -> list[float]:
    try:
        answer = requests.get(
            f'{api}/query', params={'query': query}, timeout=30
        )
    except requests.ConnectionError:
        # Prometheus is still starting.
        return []
    if answer.status_code == 503:
        return []
    found: Any = person.body(answer)['data']['result']
    return [float(each['value'][1]) for each in found]


class _Files(server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Log nothing."""


@contextlib.contextmanager
def _served(directory: pathlib.Path) -> Iterator[int]:
    """Serve the content of files, as node_exporter would; yield the port."""
    files = functools.partial(_Files, directory=str(directory))
    with server.ThreadingHTTPServer(('127.0.0.1', 0), files) as exporter:
        threading.Thread(target=exporter.serve_forever, daemon=True).start()
        try:
            yield exporter.server_port
        finally:
            exporter.shutdown()


@contextlib.contextmanager
def _prometheus(
    program: str, directory: pathlib.Path, target: int
) -> Iterator[str]:
    """Run a Prometheus that reads from the port; yield the URL of its API."""
    config = directory / 'prometheus.yml'
    config.write_text(_CONFIG.format(port=target))
    with socket.create_server(('127.0.0.1', 0)) as free:
        port = free.getsockname()[1]
    with (directory / 'prometheus.log').open('wb') as log:
        process = subprocess.Popen(
            [
                program,
                f'--config.file={config}',
                f'--storage.tsdb.path={directory / "data"}',
                f'--web.listen-address=127.0.0.1:{port}',
            ],
            stdout=log,
            stderr=log,
        )
    try:
        yield f'http://127.0.0.1:{port}/api/v1'
    finally:
        process.terminate()
        process.wait()
