# SPDX-License-Identifier: Apache-2.0
"""Samples for Ceilometer, as its own polling agents send them.

Its notification agent takes notifications ``telemetry.polling`` whose payload
has ``samples``; names of meters, units and ids of resources are those of its
compute agent, so that Gnocchi's resources are the same.
"""

from collections.abc import Iterator
from collections.abc import Mapping
import datetime
import functools
from typing import Any
import uuid

from nova import rpc
from oslo_config import cfg
import oslo_messaging

from nova_reservations.compute.metrics import base

EVENT_TYPE = 'telemetry.polling'

BATCH = 100
"""Samples in a notification."""

_MIB = 1024 * 1024

_RAM = {
    'balloon': 'memory',
    'used': 'memory.usage',
    'resident': 'memory.resident',
}
_DISK = {
    'read_bytes': ('disk.device.read.bytes', 'B'),
    'read_requests': ('disk.device.read.requests', 'request'),
    'write_bytes': ('disk.device.write.bytes', 'B'),
    'write_requests': ('disk.device.write.requests', 'request'),
}
_NIC = {
    'in_bytes': ('network.incoming.bytes', 'B'),
    'in_packets': ('network.incoming.packets', 'packet'),
    'out_bytes': ('network.outgoing.bytes', 'B'),
    'out_packets': ('network.outgoing.packets', 'packet'),
}
_HOST_TIMES = ('kernel', 'user', 'idle', 'iowait')


class Ceilometer(base.MetricPlugin):
    """Sends samples of servers and hosts to Ceilometer."""

    def __init__(self, host: str, conf: cfg.ConfigOpts) -> None:
        super().__init__(host, conf)
        self._notifier: oslo_messaging.Notifier | None = None
        self._samples: list[dict[str, Any]] = []
        self._batch = uuid.uuid4()
        #: The server that was described last, and how.
        self._described: tuple[base.Server | None, dict[str, Any]] = (None, {})

    def on_cpu(
        self, instance: base.Server | None, cpu_dict: Mapping[str, Any]
    ) -> None:
        if instance is None:
            self._host_cpu(cpu_dict)
            return
        vcpus = {
            **self._describe(instance),
            'cpu_number': cpu_dict['vcpus'],
        }
        at = cpu_dict['at']
        self._add(
            at, 'cpu', 'cumulative', 'ns', cpu_dict['time'], instance, vcpus
        )
        self._add(
            at, 'vcpus', 'gauge', 'vcpu', cpu_dict['vcpus'], instance, vcpus
        )

    def on_ram(
        self, instance: base.Server | None, ram_info: Mapping[str, Any]
    ) -> None:
        if instance is None:
            return
        for key, meter in _RAM.items():
            value = ram_info[key]
            if value is not None:
                value /= _MIB
            self._add(
                ram_info['at'],
                meter,
                'gauge',
                'MiB',
                value,
                instance,
                self._describe(instance),
            )

    def on_volume(
        self, instance: base.Server | None, volume_dict: Mapping[str, Any]
    ) -> None:
        if instance is None or volume_dict['kind'] != 'disk':
            return
        for device, counters in volume_dict['each'].items():
            for key, (meter, unit) in _DISK.items():
                self._add(
                    volume_dict['at'],
                    meter,
                    'cumulative',
                    unit,
                    counters[key],
                    instance,
                    {**_owner(instance), 'disk_name': device},
                    f'{instance.uuid}-{device}',
                )

    def on_bandwidth(
        self, instance: base.Server | None, bandwidth_dict: Mapping[str, Any]
    ) -> None:
        if instance is None:
            return
        for name, counters in bandwidth_dict['each'].items():
            for key, (meter, unit) in _NIC.items():
                self._add(
                    bandwidth_dict['at'],
                    meter,
                    'cumulative',
                    unit,
                    counters[key],
                    instance,
                    {**_owner(instance), 'name': name, 'vnic_name': name},
                    f'{instance.name}-{instance.uuid}-{name}',
                )

    def on_reload(self) -> None:
        self._notifier = None

    def flush(self) -> None:
        samples, self._samples = self._samples, []
        self._batch = uuid.uuid4()
        if samples:
            self._connected().sample({}, EVENT_TYPE, {'samples': samples})

    def _connected(self) -> oslo_messaging.Notifier:
        if self._notifier is None:
            options = self.conf.metrics_ceilometer
            self._notifier = oslo_messaging.Notifier(
                rpc.NOTIFICATION_TRANSPORT,
                publisher_id=f'nova-reservations.{self.host}',
                driver=options.driver,
                topics=[options.topic],
                # Retry only once: while the broker is away measurements get
                # old.
                retry=1,
            )
        return self._notifier

    def _host_cpu(self, cpu_dict: Mapping[str, Any]) -> None:
        found: Iterator[tuple[str, str, str, Any]] = (
            (f'compute.node.cpu.{key}.time', 'cumulative', 'ns', cpu_dict[key])
            for key in _HOST_TIMES
        )
        for meter, kind, unit, value in (
            *found,
            (
                'compute.node.cpu.frequency',
                'gauge',
                'MHz',
                cpu_dict['frequency'],
            ),
            ('compute.node.cpu.percent', 'gauge', '%', cpu_dict['percent']),
        ):
            self._add(
                cpu_dict['at'],
                meter,
                kind,
                unit,
                value,
                None,
                {'host': self.host},
                f'{self.host}_{self.host}',
            )

    def _describe(self, server: base.Server) -> dict[str, Any]:
        if self._described[0] is not server:
            self._described = server, _describe(server)
        return self._described[1]

    def _add(
        self,
        at: float,
        meter: str,
        kind: str,
        unit: str,
        value: float | None,
        server: base.Server | None,
        metadata: dict[str, Any],
        resource: str | None = None,
    ) -> None:
        if value is None:
            return
        self._samples.append(
            {
                'counter_name': meter,
                'counter_type': kind,
                'counter_unit': unit,
                'counter_volume': value,
                'user_id': server and server.user_id,
                'user_name': None,
                'project_id': server and server.project_id,
                'project_name': None,
                'resource_id': resource or (server and server.uuid),
                'timestamp': _date(at),
                'resource_metadata': metadata,
                'source': 'openstack',
                'message_id': f'{self._batch}-{len(self._samples)}',
                'monotonic_time': None,
                'message_signature': '',
            }
        )
        if len(self._samples) == BATCH:
            self.flush()


@functools.lru_cache(maxsize=8)
def _date(at: float) -> str:
    """Return the date as text; cached, because a round has one date."""
    return datetime.datetime.fromtimestamp(at, datetime.UTC).isoformat()


def _owner(server: base.Server) -> dict[str, Any]:
    """Return what Gnocchi's resource of a disk or interface takes."""
    return {
        'instance_id': server.uuid,
        'display_name': server.display_name,
    }


def _describe(server: base.Server) -> dict[str, Any]:
    """Return what Gnocchi's resource of a server takes from a sample."""
    flavor = server.flavor
    return {
        'display_name': server.display_name,
        'name': server.name,
        'instance_id': server.uuid,
        'instance_type': flavor.name,
        'instance_host': server.host,
        'image_ref': server.image_ref,
        'state': server.vm_state,
        'flavor': {
            'id': flavor.id,
            'name': flavor.name,
            'vcpus': flavor.vcpus,
            'ram': flavor.memory_mb,
            'disk': flavor.root_gb,
            'ephemeral': flavor.ephemeral_gb,
        },
        'vcpus': flavor.vcpus,
        'memory_mb': flavor.memory_mb,
        'disk_gb': flavor.root_gb,
        'ephemeral_gb': flavor.ephemeral_gb,
    }
