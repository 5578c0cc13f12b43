# SPDX-License-Identifier: Apache-2.0
"""A page for Prometheus, with the latest measurements."""

from collections.abc import Iterable
from collections.abc import Mapping
import threading
from typing import Any
from typing import ClassVar

from oslo_config import cfg
import prometheus_client
from prometheus_client import core
from prometheus_client import registry

from nova_reservations.compute.metrics import base
from nova_reservations.compute.metrics import measures

_NANO = 1e-9


class Latest:
    """The last measurements; a page reads them in other threads."""

    def __init__(self, host: str) -> None:
        self._host = host
        self._lock = threading.Lock()
        #: UUID, '' for the host -> server, kind -> what is known.
        self._subjects: dict[
            str, tuple[base.Server | None, dict[str, dict[str, float]]]
        ] = {}
        #: Node -> what is said of it -> resource -> number.
        self._nodes: dict[str, dict[str, dict[str, float]]] = {}

    def keep(
        self,
        kind: str,
        server: base.Server | None,
        measured: Mapping[str, Any],
    ) -> None:
        values = {
            measure.name: value
            for measure, value in measures.numbers(kind, measured)
        }
        if not values:
            return
        uuid = server.uuid if server else ''
        with self._lock:
            _, kinds = self._subjects.get(uuid, (None, {}))
            self._subjects[uuid] = (server, kinds | {kind: values})

    def keep_node(
        self,
        node: str,
        reported: Mapping[str, float],
        claimed: Mapping[str, float],
    ) -> None:
        with self._lock:
            self._nodes[node] = {
                'reported': dict(reported),
                'claimed': dict(claimed),
            }

    def drop(self, server: base.Server) -> None:
        with self._lock:
            self._subjects.pop(server.uuid, None)

    def add_to(self, families: Mapping[str, core.Metric]) -> None:
        """Put all of it into the families of its page."""
        with self._lock:
            subjects = list(self._subjects.values())
            nodes = list(self._nodes.items())
        for server, kinds in subjects:
            subject, labels = 'host', [self._host]
            if server:
                subject = 'server'
                labels += [server.uuid, server.project_id, server.flavor.name]
            for values in kinds.values():
                for name, value in values.items():
                    measure = measures.BY_NAME[name]
                    family = families.get(_name(subject, measure))
                    if family is not None:
                        scale = _NANO if measure.unit == 'ns' else 1
                        family.add_metric(labels, value * scale)  # type: ignore[attr-defined]
        for node, said in nodes:
            for what, resources in said.items():
                for resource, value in resources.items():
                    families[f'nova_node_{what}'].add_metric(  # type: ignore[attr-defined]
                        [self._host, node, resource], value
                    )


class Page(registry.Collector):
    """Listens on one address, for as long as a plugin needs it.

    In the sandbox a process may have several compute hosts, which share it.
    """

    _open: ClassVar[dict[tuple[str, int], 'Page']] = {}
    _lock: ClassVar[threading.Lock] = threading.Lock()

    def __init__(self, address: tuple[str, int]) -> None:
        self.address = address
        self._readers: list[Latest] = []
        known = prometheus_client.CollectorRegistry()
        known.register(self)
        host, port = address
        self._server, self._thread = prometheus_client.start_http_server(
            port, host, known
        )

    @classmethod
    def show(cls, address: tuple[str, int], latest: Latest) -> 'Page':
        """Return the page that shows it from now on.

        :raises: OSError if it can't listen there
        """
        with cls._lock:
            if address not in cls._open:
                cls._open[address] = cls(address)
            page = cls._open[address]
            page._readers = [*page._readers, latest]
            return page

    def hide(self, latest: Latest) -> None:
        """Remove the plugin from the page; without any the page closes."""
        with self._lock:
            self._readers = [
                reader for reader in self._readers if reader is not latest
            ]
            if self._readers:
                return
            self._open.pop(self.address)
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def collect(self) -> Iterable[core.Metric]:
        families = _families()
        for latest in self._readers:
            latest.add_to(families)
        return families.values()


class Prometheus(base.UniformPlugin):
    """Serves ``/metrics``, on loopback unless it is told otherwise."""

    def __init__(self, host: str, conf: cfg.ConfigOpts) -> None:
        super().__init__(host, conf)
        self._latest = Latest(host)
        self._page: Page | None = None

    def on_measured(
        self,
        kind: str,
        instance: base.Server | None,
        measured: Mapping[str, Any],
    ) -> None:
        self._latest.keep(kind, instance, measured)

    def on_resources(
        self,
        node: str,
        reported: Mapping[str, int],
        claimed: Mapping[str, int],
    ) -> None:
        self._latest.keep_node(node, reported, claimed)

    def on_gone(self, instance: base.Server) -> None:
        self._latest.drop(instance)

    def flush(self) -> None:
        """Listen where the configuration says."""
        options = self.conf.metrics_prometheus
        address = (options.host, options.port)
        if self._page is not None and self._page.address == address:
            return
        self.close()
        self._page = Page.show(address, self._latest)

    def close(self) -> None:
        if self._page is not None:
            self._page.hide(self._latest)
        self._page = None


def _families() -> dict[str, core.Metric]:
    """Return name -> a family without numbers, in the order of the page.

    Rates are left out, because Prometheus computes them itself.
    """
    families: dict[str, core.Metric] = {}
    for subject, labels in (
        ('server', ['host', 'server', 'project', 'flavor']),
        ('host', ['host']),
    ):
        for measure in measures.MEASURES:
            if measure.unit.endswith('/s'):
                continue
            family = (
                core.CounterMetricFamily
                if measure.counter
                else core.GaugeMetricFamily
            )
            name = _name(subject, measure)
            families[name] = family(
                name, f'Of a {subject}: {measure.text}', labels=labels
            )
    for what in ('reported', 'claimed'):
        name = f'nova_node_{what}'
        families[name] = core.GaugeMetricFamily(
            name,
            f"Nova's resource audit: {what}",
            labels=['host', 'node', 'resource'],
        )
    return families


def _name(subject: str, measure: measures.Measure) -> str:
    name = f'nova_{subject}_{measure.kind}_{measure.key}'
    if measure.unit == 'ns':
        return name.removesuffix('_time') + '_seconds'
    if measure.unit == 'B' and not name.endswith('_bytes'):
        return f'{name}_bytes'
    return name
