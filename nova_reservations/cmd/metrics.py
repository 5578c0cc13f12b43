# SPDX-License-Identifier: Apache-2.0
"""``nova-reservations-manage metrics``: metrics in Prometheus' format."""

import argparse
from collections.abc import Iterable
import sys
from typing import Any

import prometheus_client
from prometheus_client import core
from prometheus_client import registry

from nova_reservations.cmd import parsers
from nova_reservations.db import migration
from nova_reservations.engine import assembly
from nova_reservations.engine.upkeep import service_metrics

SUFFIX = '.prom'
"""The suffix of files that node_exporter's textfile collector reads."""


def add_parser(commands: Any) -> None:
    metrics = parsers.command(
        commands,
        'metrics',
        'print metrics of leases, hosts and the engine for Prometheus, as '
        'the database has them now',
        show,
    )
    metrics.add_argument(
        '--textfile',
        type=_textfile,
        metavar='FILE',
        help='write them there, at one stroke, for the textfile collector of '
        'node_exporter; what is there stays if they can not be read',
    )


def _textfile(text: str) -> str:
    if not text.endswith(SUFFIX):
        raise argparse.ArgumentTypeError(
            f'"{text}": node_exporter reads files that end with {SUFFIX} only'
        )
    return text


def show(services: assembly.Services, arguments: Any) -> int:
    """:raises: SchemaTooOld, after a metric of that was written
    :raises: DatabaseUnavailable
    """
    old = migration.state(services.database) is migration.State.OLD
    readings = services.metrics.schema() if old else services.metrics.read()
    try:
        _put(page(readings), arguments.textfile)
    except OSError as error:
        print(f'The metrics are not written: {error}', file=sys.stderr)
        return 1
    if old:
        migration.check(services.database)
    return 0


def page(
    readings: service_metrics.Readings,
) -> prometheus_client.CollectorRegistry:
    """Return a registry with these readings, in the order of METRICS."""
    registered = prometheus_client.CollectorRegistry()
    registered.register(_Page(readings))
    return registered


def _put(
    registered: prometheus_client.CollectorRegistry, file: str | None
) -> None:
    """:raises: OSError"""
    if file is None:
        print(prometheus_client.generate_latest(registered).decode(), end='')
    else:
        prometheus_client.write_to_textfile(file, registered)


class _Page(registry.Collector):
    def __init__(self, readings: service_metrics.Readings) -> None:
        self._readings = readings

    def collect(self) -> Iterable[core.Metric]:
        for metric in service_metrics.METRICS:
            if metric.name not in self._readings:
                continue
            kind = (
                core.CounterMetricFamily
                if metric.counts
                else core.GaugeMetricFamily
            )
            family = kind(
                service_metrics.PREFIX + metric.name,
                metric.help,
                labels=metric.labels,
            )
            for labels, number in self._readings[metric.name].items():
                family.add_metric(labels, number)
            yield family
