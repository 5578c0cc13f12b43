# SPDX-License-Identifier: Apache-2.0
"""A metric plugin that knows who is busiest, as an example."""

from collections.abc import Mapping
import pathlib
from typing import Any

from oslo_config import cfg

from nova_reservations.compute.metrics import base


class Busiest(base.MetricPlugin):
    """Keeps the busiest servers of the last round in a file."""

    def __init__(self, host: str, conf: cfg.ConfigOpts) -> None:
        super().__init__(host, conf)
        options = [
            cfg.StrOpt('file', default='/run/nova/busiest', mutable=True),
            cfg.IntOpt('count', default=3, min=1, mutable=True),
        ]
        conf.register_opts(options, group='busiest')
        self._found: list[tuple[float, str]] = []

    def on_cpu(
        self, instance: base.Server | None, cpu_dict: Mapping[str, Any]
    ) -> None:
        # None is the host; and the first round knows no percent.
        if instance is not None and cpu_dict['percent'] is not None:
            self._found.append((cpu_dict['percent'], instance.uuid))

    def flush(self) -> None:
        found, self._found = self._found, []
        if not found:
            # Nova's audit and volume poll are batches too.
            return
        busiest = sorted(found, reverse=True)[: self.conf.busiest.count]
        lines = [f'{percent:.1f} {uuid}\n' for percent, uuid in busiest]
        pathlib.Path(self.conf.busiest.file).write_text(''.join(lines))

    def close(self) -> None:
        pathlib.Path(self.conf.busiest.file).unlink(missing_ok=True)
