# SPDX-License-Identifier: Apache-2.0
"""Asks the virt driver at each interval, and passes its measurements, and
those of Nova's audits, to plugins."""

from collections.abc import Iterable
from collections.abc import Mapping
import os
import threading
import time
from typing import Any

from oslo_config import cfg
from oslo_log import log

from nova_reservations import plugin_loader
from nova_reservations.compute.metrics import base
from nova_reservations.compute.metrics import driver_reader
from nova_reservations.compute.metrics import driver_stats
from nova_reservations.compute.metrics import files
from nova_reservations.compute.metrics import machine
from nova_reservations.compute.metrics import plugin_thread
from nova_reservations.compute.metrics import samples
from nova_reservations.compute.metrics import servers
from nova_reservations.tracking import stats

LOG = log.getLogger(__name__)

REPORTED = (
    'vcpus',
    'vcpus_used',
    'memory_mb',
    'memory_mb_used',
    'local_gb',
    'local_gb_used',
)

_HOST = ''
"""Key of the host in histories; servers have their UUID."""


def now() -> samples.Moment:
    return samples.Moment(at=time.time(), monotonic=time.monotonic())


class Collector:
    """One for each compute host.

    :ivar host: its name.
    :ivar servers: those on the host.
    :ivar threads: name -> the plugin and its thread.
    """

    def __init__(
        self,
        host: str,
        driver: Any,
        known: servers.Servers,
        conf: cfg.ConfigOpts,
    ) -> None:
        self.host = host
        self._conf = conf
        self.servers = known
        self._reader = driver_reader.DriverReader(driver)
        self._files = files.Files(conf)
        self._history = samples.History()
        # For Nova's volume poll, which runs in another thread.
        self._volumes = samples.History()
        self._present: dict[str, base.Server] = {}
        self.threads: dict[str, plugin_thread.PluginThread] = {}
        self._stopping = threading.Event()
        self._thread = threading.Thread(
            target=self._run, name='metrics', daemon=True
        )

    # Nova's threads

    def start(self) -> None:
        self.choose()
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join(plugin_thread.PATIENCE)
        for thread in self.threads.values():
            thread.stop()

    def hand_on_resources(
        self,
        node: str,
        reported: Mapping[str, Any],
        claimed: Mapping[str, Any],
    ) -> None:
        """Pass the figures of Nova's audit to plugins.

        :param reported: all that ``get_available_resource`` returned
        """
        reported = {name: reported[name] for name in REPORTED}
        ram = samples.of_host_ram(reported, now().at)
        self._put(
            [
                ('on_ram', (None, ram)),
                ('on_resources', (node, reported, claimed)),
            ]
        )

    def hand_on_volumes(self, usages: Iterable[Mapping[str, Any]]) -> None:
        """Pass the figures of Nova's volume usage poll to plugins.

        :param usages: ``instance``, ``volume`` (its id), ``rd_req``,
            ``rd_bytes``, ``wr_req`` and ``wr_bytes`` of each
        """
        moment = now()
        found: dict[str, driver_stats.Reading] = {}
        for usage in usages:
            reading = found.setdefault(
                usage['instance'].uuid, driver_stats.Reading()
            )
            reading.disks[usage['volume']] = {
                'read_bytes': usage['rd_bytes'],
                'read_requests': usage['rd_req'],
                'write_bytes': usage['wr_bytes'],
                'write_requests': usage['wr_req'],
            }
        calls: list[plugin_thread.Call] = []
        present = self._present
        for uuid, reading in found.items():
            if uuid not in present:
                continue
            seconds, before = self._volumes.swap(
                uuid, moment.monotonic, reading
            )
            volumes = samples.of_volumes(
                'volume', reading, before, seconds, moment.at
            )
            calls.append(('on_volume', (present[uuid], volumes)))
        self._volumes.keep(found)
        self._put(calls)

    # The collector's own

    def choose(self) -> None:
        """Run the plugins that the configuration names, and no others.

        A plugin that is off is made anew: it does not know which servers have
        gone since.
        """
        wanted = set(self._conf.metrics_plugins.enabled)
        kept = {
            name: thread
            for name, thread in self.threads.items()
            if name in wanted and thread.guard.off is None
        }
        new = self._load(sorted(wanted - kept.keys()))
        for thread in new.values():
            thread.start()
        # The dict is replaced, because Nova's threads may be iterating over
        # the old one.
        before, self.threads = self.threads, kept | new
        for name in before.keys() - kept.keys():
            before[name].stop()

    def _load(self, names: list[str]) -> dict[str, plugin_thread.PluginThread]:
        if not names:
            return {}
        loaded = plugin_loader.load(
            base.NAMESPACE,
            names,
            base.MetricPlugin,
            '[metrics_plugins] enabled',
            is_name=stats.is_name,
        )
        new = {}
        for name, plugin in loaded.found.items():
            try:
                new[name] = plugin_thread.PluginThread(
                    name, plugin(self.host, self._conf)
                )
            except Exception:
                LOG.exception('The metric plugin %s does not start', name)
        return new

    @property
    def wants_metadata(self) -> bool:
        return any(
            thread.plugin.wants_metadata for thread in self.threads.values()
        )

    def reload(self) -> None:
        """Read the files of the configuration again, if they have changed."""
        if not self._files.reload():
            return
        self.choose()
        self._put([('on_reload', ())])

    def round(self, moment: samples.Moment) -> None:
        """Measure all there is to measure, once."""
        present = self.servers.servers()
        calls: list[plugin_thread.Call] = []
        for uuid, (instance, server) in present.items():
            # Let other threads, which may be green ones, have their turn.
            time.sleep(0)
            reading = self._reader.server(instance)
            if reading is None:
                continue
            seconds, before = self._history.swap(
                uuid, moment.monotonic, reading
            )
            calls += [
                (method, (server, measured))
                for method, measured in samples.of_server(
                    reading, before, seconds, server.flavor.vcpus, moment.at
                )
            ]
        calls += self._of_host(moment)
        calls += [
            ('on_gone', (server,))
            for uuid, server in self._present.items()
            if uuid not in present
        ]
        self._present = {uuid: server for uuid, (_, server) in present.items()}
        self._history.keep((*present, _HOST, f'{_HOST}nics'))
        self._reader.sum_up()
        self._put(calls)

    def _of_host(self, moment: samples.Moment) -> list[plugin_thread.Call]:
        calls: list[plugin_thread.Call] = []
        stats = self._reader.host_cpu()
        if stats is not None:
            seconds, before = self._history.swap(
                _HOST, moment.monotonic, stats
            )
            cpu = samples.of_host_cpu(
                stats, before, seconds, os.cpu_count(), moment.at
            )
            calls.append(('on_cpu', (None, cpu)))
        nics = machine.nics()
        seconds, before = self._history.swap(
            f'{_HOST}nics', moment.monotonic, nics
        )
        bandwidth = samples.of_nics(nics, before, seconds, moment.at)
        calls.append(('on_bandwidth', (None, bandwidth)))
        return calls

    def _put(self, batch: list[plugin_thread.Call]) -> None:
        for thread in self.threads.values():
            thread.put(batch)

    def _run(self) -> None:
        measure = look = time.monotonic()
        while not self._stopping.wait(
            max(0, min(measure, look) - time.monotonic())
        ):
            moment = now()
            options = self._conf.metrics_plugins
            try:
                if moment.monotonic >= look:
                    look = moment.monotonic + options.reload_interval
                    self.reload()
                    measure = min(measure, moment.monotonic + options.interval)
                if moment.monotonic >= measure:
                    measure = moment.monotonic + options.interval
                    self.round(moment)
            except Exception:
                # The next round may go better.
                LOG.exception('A round of measurements failed')
