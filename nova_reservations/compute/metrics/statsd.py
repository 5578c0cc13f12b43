# SPDX-License-Identifier: Apache-2.0
"""Measurements as gauges of statsd, by UDP."""

from collections.abc import Mapping
import re
from typing import Any

from oslo_config import cfg
import statsd

from nova_reservations.compute.metrics import base
from nova_reservations.compute.metrics import measures
from nova_reservations.compute.metrics import outages

#: Separates names, values, types or tags in one of the dialects.
_SPECIAL = re.compile(r'[^A-Za-z0-9_-]')

_SEPARATORS = {'influxdb': ',', 'graphite': ';'}


class Statsd(base.UniformPlugin):
    """Sends every number to a statsd, many in one packet."""

    def __init__(self, host: str, conf: cfg.ConfigOpts) -> None:
        super().__init__(host, conf)
        self._client: statsd.StatsClient | None = None
        #: Name of the gauge, value.
        self._gauges: list[tuple[str, float]] = []
        #: The last server, and what the names of its gauges have before and
        #: after the measure.
        self._labelled: tuple[base.Server | None, tuple[str, str]] = (
            None,
            ('', ''),
        )
        self._outage = outages.Outage('statsd')

    def on_reload(self) -> None:
        self.close()

    def flush(self) -> None:
        gauges, self._gauges = self._gauges, []
        try:
            with self._connected().pipeline() as pipeline:
                for name, value in gauges:
                    pipeline.gauge(name, value)
        except OSError as error:
            self._outage.failed(error)
        self._outage.batch_ends()

    def close(self) -> None:
        if self._client is not None:
            self._client.close()
        self._client = None

    def _connected(self) -> statsd.StatsClient:
        """Return the client; its host name is looked up only after a
        change."""
        if self._client is None:
            options = self.conf.metrics_statsd
            self._client = statsd.StatsClient(
                host=options.host,
                port=options.port,
                prefix=options.prefix or None,
                maxudpsize=options.packet_size,
                ipv6=':' in options.host,
            )
        return self._client

    def on_measured(
        self,
        kind: str,
        instance: base.Server | None,
        measured: Mapping[str, Any],
    ) -> None:
        if self._labelled[0] is not instance or not self._gauges:
            naming = self.conf.metrics_statsd.naming
            self._labelled = instance, _label(naming, self.host, instance)
        before, after = self._labelled[1]
        self._gauges += [
            (f'{before}{measure.name}{after}', value)
            for measure, value in measures.numbers(kind, measured)
        ]


def _label(
    naming: str, host: str, server: base.Server | None
) -> tuple[str, str]:
    """Return what goes before and after a measure's name."""
    tags = {'host': host}
    if server:
        tags |= {
            'project': server.project_id,
            'server': server.uuid,
            'flavor': server.flavor.name,
        }
    tags = {name: _SPECIAL.sub('_', value) for name, value in tags.items()}
    if naming == 'dotted':
        tags.pop('flavor', None)
        return ''.join(f'{value}.' for value in tags.values()), ''
    separator = _SEPARATORS[naming]
    return '', ''.join(
        f'{separator}{name}={value}' for name, value in tags.items()
    )
