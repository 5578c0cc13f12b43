# SPDX-License-Identifier: Apache-2.0
"""Prometheus reads our metrics, and evaluates our alerts and our dashboard.

The tests are skipped if there is no Prometheus: tools/prometheus installs
Debian's, if it may.
"""

from collections.abc import Callable
from collections.abc import Iterator
import functools
from http import server
import json
import pathlib
import re
import shutil
import socket
import subprocess
import threading
import time
from typing import Any

import prometheus_client
import pytest
import requests
import sqlalchemy as sa

from nova_reservations import exception
from nova_reservations.cmd import metrics
from nova_reservations.db import models
from nova_reservations.engine.upkeep import service_metrics
from nova_reservations.objects import states
from nova_reservations.testing import region as regions

# One process starts Prometheus for all of these tests.
pytestmark = pytest.mark.xdist_group('prometheus')

ETC = pathlib.Path(__file__).parents[4] / 'etc'
ALERTS = ETC / 'prometheus' / 'nova-reservations-alerts.yml'
TESTS = ETC / 'prometheus' / 'nova-reservations-tests.yml'
DASHBOARD = ETC / 'grafana' / 'nova-reservations.json'

PATIENCE = 30
"""Seconds; a busy machine needs many."""

CONFIG = """
global: {{scrape_interval: 200ms, evaluation_interval: 200ms}}
rule_files: [{alerts}]
scrape_configs:
  - job_name: reservations
    static_configs: [{{targets: ['127.0.0.1:{port}']}}]
"""

VARIABLES = {'$project': '.+', '$__range': '1h'}
"""The dashboard's variables, and values that Grafana would put in."""


def program(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        pytest.skip(f'there is no {name}: see tools/prometheus')
    return found


def promtool(*words: str, **more: Any) -> str:
    run = subprocess.run(
        [program('promtool'), *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        **more,
    )
    assert run.returncode == 0, run.stdout
    return run.stdout


@pytest.fixture(scope='module')
def text(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The metrics page of a region in which each metric has a sample."""
    factory = regions.Factory(tmp_path_factory.mktemp('region'))
    region = factory('one', 'two', 'three')
    region.active_lease(project='lessee')
    region.active_lease(project='another')
    region.retry(minimum=3)
    with pytest.raises(exception.NotEnoughResources):
        region.lease(minimum=3)
    region.now += regions.minutes(1)
    with region.database.writer() as session:
        session.execute(sa.insert(models.Usage).values(**_usage(region)))
    readings = region.services.metrics.read()
    factory.close()
    # Each metric has a sample.
    assert readings.keys() == {
        metric.name for metric in service_metrics.METRICS
    }
    assert all(readings.values())
    return prometheus_client.generate_latest(metrics.page(readings)).decode()


def _usage(region: regions.Region) -> dict[str, Any]:
    return {
        'lease_id': '',
        'reservation_id': '',
        'project_id': 'lessee',
        'user_id': '',
        'started_at': region.now - regions.minutes(1),
        'ended_at': region.now,
        'lease_name': '',
        'lease_type': states.LeaseType.SCHEDULED,
        'resource_type': 'physical:host',
        'resource_class': 'physical:host',
        'amount': 1,
        'degraded': False,
    }


class Handler(server.BaseHTTPRequestHandler):
    """Serves our page as a node_exporter would, and nothing else."""

    def __init__(self, text: str, *args: Any) -> None:
        self._text = text
        super().__init__(*args)

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header('Content-Type', 'text/plain; version=0.0.4')
        self.end_headers()
        self.wfile.write(self._text.encode())

    def log_message(self, *args: Any) -> None:
        pass


class Prometheus:
    def __init__(self, port: int) -> None:
        self._api = f'http://127.0.0.1:{port}/api/v1'

    def ask(self, path: str, **parameters: str) -> Any:
        answer = requests.get(
            f'{self._api}/{path}', params=parameters, timeout=PATIENCE
        )
        assert answer.ok, answer.text
        return answer.json()['data']

    def query(self, expression: str) -> list[Any]:
        return list(self.ask('query', query=expression)['result'])

    def wait(self, until: Callable[[], object]) -> None:
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            try:
                if until():
                    return
            except (requests.ConnectionError, AssertionError):
                # Prometheus has just started, and is not ready.
                pass
            threading.Event().wait(0.1)
        pytest.fail('Prometheus is not ready')

    def rules(self) -> list[Any]:
        [group] = self.ask('rules')['groups']
        return list(group['rules'])


@pytest.fixture(scope='module')
def prometheus(
    text: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Prometheus]:
    """A Prometheus that has read the metrics several times."""
    command = program('prometheus')
    directory = tmp_path_factory.mktemp('prometheus')
    exporter = server.ThreadingHTTPServer(
        ('127.0.0.1', 0), functools.partial(Handler, text)
    )
    threading.Thread(target=exporter.serve_forever, daemon=True).start()
    with socket.create_server(('127.0.0.1', 0)) as free:
        port = free.getsockname()[1]
    config = directory / 'prometheus.yml'
    config.write_text(
        CONFIG.format(alerts=ALERTS, port=exporter.server_address[1])
    )
    process = subprocess.Popen(
        [
            command,
            f'--config.file={config}',
            f'--storage.tsdb.path={directory / "data"}',
            f'--web.listen-address=127.0.0.1:{port}',
            '--log.level=warn',
        ]
    )
    try:
        started = Prometheus(port)
        started.wait(lambda: started.query('count_over_time(up[1m]) > 2'))
        yield started
    finally:
        process.terminate()
        process.wait(PATIENCE)
        exporter.shutdown()
        exporter.server_close()


def dashboard() -> Any:
    return json.loads(DASHBOARD.read_text())


def queries() -> list[str]:
    """Return the queries of all panels, with values for the variables."""
    found = []
    for panel in dashboard()['panels']:
        for target in panel['targets']:
            expression = target['expr']
            for name, value in VARIABLES.items():
                expression = expression.replace(name, value)
            found.append(expression)
    return found


def test_prometheus_finds_nothing_to_mend_in_what_is_printed(text):
    assert promtool('check', 'metrics', input=text) == ''


def test_alerts_fire_when_they_are_to_and_not_before():
    promtool('check', 'rules', str(ALERTS))
    promtool('test', 'rules', str(TESTS))
    alerts = re.findall(r'alert: (\w+)', ALERTS.read_text())
    tried = set(re.findall(r'alertname="(\w+)"', TESTS.read_text()))
    assert set(alerts) == tried


def test_prometheus_can_evaluate_each_alert(prometheus):
    prometheus.wait(
        lambda: all(rule['health'] != 'unknown' for rule in prometheus.rules())
    )
    assert not [rule for rule in prometheus.rules() if rule.get('lastError')]


@pytest.mark.parametrize('expression', queries())
def test_queries_of_the_dashboard_have_an_answer(prometheus, expression):
    assert prometheus.query(expression)


def test_the_variables_of_the_dashboard_have_values(prometheus):
    names = {each['name'] for each in dashboard()['templating']['list']}
    for name in VARIABLES:
        assert name.startswith('$__') or name.strip('$') in names
    for each in dashboard()['templating']['list']:
        if each['type'] == 'query':
            metric, label = re.fullmatch(
                r'label_values\((\w+), (\w+)\)', each['query']['query']
            ).groups()
            assert prometheus.query(f'count by ({label}) ({metric})')


def test_panels_do_not_lie_on_each_other():
    taken = set()
    for panel in dashboard()['panels']:
        place = panel['gridPos']
        for x in range(place['x'], place['x'] + place['w']):
            for y in range(place['y'], place['y'] + place['h']):
                assert x < 24
                assert (x, y) not in taken
                taken.add((x, y))


def test_metrics_are_all_watched_and_nothing_else_is():
    watched = ' '.join([*queries(), ALERTS.read_text()])
    named = set(re.findall(r'\bnova_reservations_\w+', watched))
    assert named == {
        service_metrics.PREFIX + metric.name
        for metric in service_metrics.METRICS
    }
