# SPDX-License-Identifier: Apache-2.0
"""The base of metric plugins, and the values that they are given."""

import abc
from collections.abc import Mapping
import dataclasses
from typing import Any
from typing import ClassVar

from oslo_config import cfg

NAMESPACE = 'nova_reservations.metrics'


@dataclasses.dataclass(frozen=True, slots=True)
class Flavor:
    """The flavor as it is stored with the server: at boot, or at a resize.

    :ivar id: Nova's ``flavorid``.
    """

    id: str
    name: str
    vcpus: int
    memory_mb: int
    root_gb: int
    ephemeral_gb: int
    extra_specs: Mapping[str, str]


@dataclasses.dataclass(frozen=True, slots=True)
class Server:
    """A server on this host, in the words of Nova's Instance.

    :ivar name: what the hypervisor calls it.
    :ivar metadata: None if nobody has read it: see
        :attr:`MetricPlugin.wants_metadata`.
    """

    uuid: str
    name: str
    display_name: str
    project_id: str
    user_id: str
    host: str
    node: str
    image_ref: str
    vm_state: str
    flavor: Flavor
    metadata: Mapping[str, str] | None


class MetricPlugin:
    """Receives measurements, and sends or stores them.

    Its methods are called one after the other, in a thread that only this
    plugin has: it may wait, but not for longer than ``[metrics_plugins]
    interval``, or measurements are lost. What it raises is logged with its
    name; after three failures without a good batch between them it is off
    until the configuration is reloaded.

    ``instance`` is the :class:`Server` that was measured; None is the host.
    Every dict has ``at``, when it was measured, in seconds since the epoch.
    Other plugins are given the same dicts, so nested ones must not be changed.
    None stands for what the driver does not tell; a rate is also None at the
    first look, and when a counter has started anew or wrapped.

    :cvar wants_metadata: whether ``instance.metadata`` is needed. Nova's
        resource audit then reads it too.
    :ivar host: the name of this compute host.
    :ivar conf: Nova's configuration; read it anew each time, it may change.
    """

    wants_metadata: ClassVar[bool] = False

    def __init__(self, host: str, conf: cfg.ConfigOpts) -> None:
        self.host = host
        self.conf = conf

    def on_cpu(
        self, instance: Server | None, cpu_dict: Mapping[str, Any]
    ) -> None:
        """Called for each server, and for the host, in each round.

        ======== ===== ======================================================
        key      unit  meaning
        ======== ===== ======================================================
        time     ns    CPU time that it has used since its start; of the host
                       in kernel and user mode since its boot
        vcpus          of a server, its vcpus; of the host, its CPUs
        percent  %     of all its vcpus, since the round before: 100 is all
                       of them at full load
        ======== ===== ======================================================

        Of the host also ``kernel``, ``user``, ``idle``, ``iowait`` (ns since
        boot) and ``frequency`` (MHz).

        Source: the virt driver's ``get_diagnostics`` or
        ``get_instance_diagnostics``, of the host ``get_host_cpu_stats``.
        """

    def on_ram(
        self, instance: Server | None, ram_info: Mapping[str, Any]
    ) -> None:
        """Called for each server in each round, for the host at each audit.

        ======== ===== ======================================================
        key      unit  meaning
        ======== ===== ======================================================
        total    bytes what it may have at most
        balloon  bytes what it has at the moment
        used     bytes in use as its guest's balloon driver tells; of the
                       host, as the hypervisor tells
        resident bytes of the host's memory that it occupies
        percent  %     used of total
        ======== ===== ======================================================

        Source: the virt driver's ``get_diagnostics`` or
        ``get_instance_diagnostics``; of the host, what Nova's resource audit
        has got from ``get_available_resource`` (``balloon`` and ``resident``
        are None).
        """

    def on_volume(
        self, instance: Server | None, volume_dict: Mapping[str, Any]
    ) -> None:
        """Called for each server in each round, and at Nova's volume poll.

        ============== ======= ==============================================
        key            unit    meaning
        ============== ======= ==============================================
        kind                   ``disk``: all disks as the hypervisor has
                               them; ``volume``: those that are volumes of
                               Cinder, as Nova's poll has found them
        read_bytes     bytes   since the start of the server
        write_bytes    bytes   the same, written
        read_requests          since the start of the server
        write_requests         the same, written
        each                   device (of a volume: its id) -> dict with the
                               same keys but these two and ``at``
        ============== ======= ==============================================

        With ``_rate`` appended, each of the four is per second, since the
        previous call for the same kind.

        Source: the virt driver's ``get_diagnostics`` or
        ``get_instance_diagnostics`` for ``disk``; for ``volume`` what Nova's
        volume usage poll has got from ``get_all_volume_usage``, with
        ``[DEFAULT] volume_usage_poll_interval`` only. Bytes of a volume are
        counted in both. Not called for the host, of whose disks no driver
        tells.
        """

    def on_bandwidth(
        self, instance: Server | None, bandwidth_dict: Mapping[str, Any]
    ) -> None:
        """Called for each server, and for the host, in each round.

        ============== ======= ==============================================
        key            unit    meaning
        ============== ======= ==============================================
        in_bytes       bytes   received since its start
        out_bytes      bytes   sent since its start
        in_packets             received since its start
        out_packets            sent since its start
        each                   interface -> dict with the same keys but this
                               and ``at``
        ============== ======= ==============================================

        With ``_rate`` appended, each of the four is per second, since the
        previous round.

        Source: the virt driver's ``get_diagnostics`` or
        ``get_instance_diagnostics``; of the host the counters that its
        kernel keeps of the interfaces with hardware (all but the loopback if
        none has).
        """

    def on_resources(
        self,
        node: str,
        reported: Mapping[str, int],
        claimed: Mapping[str, int],
    ) -> None:
        """Called after each resource audit of Nova, for each node.

        :param node: the hypervisor's name of itself
        :param reported: what the hypervisor says that there is, ``vcpus``,
            ``memory_mb`` (MiB) and ``local_gb`` (GiB), and what of it is in
            use, the same with ``_used`` appended
        :param claimed: what servers and migrations claim of it, as Nova
            counts it, with what is reserved for the host:
            ``vcpus_used``, ``memory_mb_used`` (MiB), ``local_gb_used`` (GiB),
            ``running_vms``
        """

    def on_gone(self, instance: Server) -> None:
        """Called when a server is not on this host any more."""

    def on_reload(self) -> None:
        """Called when the configuration has changed."""

    def flush(self) -> None:
        """Called after each batch of the calls above, to send what they have
        gathered."""

    def close(self) -> None:
        """Called once, when the plugin is no longer in use."""


class UniformPlugin(MetricPlugin, abc.ABC):
    """Receives all measurements of servers and of the host by one method."""

    @abc.abstractmethod
    def on_measured(
        self, kind: str, instance: Server | None, measured: Mapping[str, Any]
    ) -> None:
        """Called in place of ``on_`` + kind: cpu, ram, volume, bandwidth."""

    def on_cpu(
        self, instance: Server | None, cpu_dict: Mapping[str, Any]
    ) -> None:
        self.on_measured('cpu', instance, cpu_dict)

    def on_ram(
        self, instance: Server | None, ram_info: Mapping[str, Any]
    ) -> None:
        self.on_measured('ram', instance, ram_info)

    def on_volume(
        self, instance: Server | None, volume_dict: Mapping[str, Any]
    ) -> None:
        self.on_measured('volume', instance, volume_dict)

    def on_bandwidth(
        self, instance: Server | None, bandwidth_dict: Mapping[str, Any]
    ) -> None:
        self.on_measured('bandwidth', instance, bandwidth_dict)
