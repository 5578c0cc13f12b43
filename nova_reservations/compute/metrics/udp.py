# SPDX-License-Identifier: Apache-2.0
"""Sends each measurement as a datagram."""

from collections.abc import Callable
from collections.abc import Mapping
import json
import socket
from typing import Any

import msgpack
from oslo_config import cfg

from nova_reservations.compute.metrics import base
from nova_reservations.compute.metrics import outages


def _json(document: Mapping[str, Any]) -> bytes:
    return json.dumps(document, separators=(',', ':')).encode()


Encoder = Callable[[Mapping[str, Any]], bytes]

_ENCODERS: Mapping[str, Encoder] = {
    'json': _json,
    'msgpack': msgpack.packb,
}


class Udp(base.UniformPlugin):
    """Sends measurements in JSON or MessagePack."""

    def __init__(self, host: str, conf: cfg.ConfigOpts) -> None:
        super().__init__(host, conf)
        self._socket: socket.socket | None = None
        self._address: Any = None
        self._encode: Encoder = _json
        self._size = 0
        self._outage = outages.Outage('udp')

    def on_resources(
        self,
        node: str,
        reported: Mapping[str, int],
        claimed: Mapping[str, int],
    ) -> None:
        found = {
            'node': node,
            'reported': dict(reported),
            'claimed': dict(claimed),
        }
        self.on_measured('resources', None, found)

    def on_reload(self) -> None:
        self.close()

    def flush(self) -> None:
        self._outage.batch_ends()

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
        self._socket = None

    def on_measured(
        self,
        kind: str,
        instance: base.Server | None,
        measured: Mapping[str, Any],
    ) -> None:
        if self._outage.known:
            return
        try:
            connected = self._connected()
            connected.sendto(
                self._encoded(kind, instance, measured), self._address
            )
        except OSError as error:
            self._outage.failed(error)

    def _encoded(
        self,
        kind: str,
        server: base.Server | None,
        measured: Mapping[str, Any],
    ) -> bytes:
        document: dict[str, Any] = {'metric': kind, 'host': self.host}
        if server:
            document |= {
                'server': server.uuid,
                'name': server.display_name,
                'project': server.project_id,
                'flavor': server.flavor.name,
            }
        document |= measured
        data = self._encode(document)
        if len(data) > self._size:
            document.pop('each', None)
            data = self._encode(document)
        return data

    def _connected(self) -> socket.socket:
        """Return the socket; options are read, and names looked up, only after
        a change."""
        if self._socket is None:
            options = self.conf.metrics_udp
            self._encode = _ENCODERS[options.encoding]
            self._size = options.packet_size
            [(family, kind, protocol, _, self._address), *_] = (
                socket.getaddrinfo(
                    options.host, options.port, type=socket.SOCK_DGRAM
                )
            )
            self._socket = socket.socket(family, kind, protocol)
        return self._socket
