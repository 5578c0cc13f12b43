# SPDX-License-Identifier: Apache-2.0
"""Compute hosts that have no machine behind them: Nova's fake driver."""

from collections.abc import Callable
import io
import pathlib
import sys
import time
from typing import Any
import zlib

import nova.conf
from nova.image import glance
from nova.virt import fake

from sandbox import layout as lo
from sandbox import load


def install() -> None:
    """Make Nova find this module: it loads drivers from nova.virt only."""
    sys.modules['nova.virt.sandbox'] = sys.modules[__name__]


def share_of_failures(directory: pathlib.Path) -> pathlib.Path:
    """Return the file that says how many of a hundred builds fail."""
    return directory / 'builds-that-fail'


class Driver(fake.FakeDriver):
    """A host with an identity of its own, on which a build takes its time."""

    vcpus = 16
    memory_mb = 32768
    local_gb = 500

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._machines: dict[str, load.Machine] = {}

    def _node_uuid(self) -> str:
        return lo.identity(nova.conf.CONF.state_path, self._host).read_text()

    def get_available_resource(self, nodename: str) -> dict[str, Any]:
        resources: dict[str, Any] = super().get_available_resource(nodename)
        return resources | {'uuid': self._node_uuid()}

    def get_nodenames_by_uuid(self, refresh: bool = False) -> dict[str, str]:
        return {self._node_uuid(): self._host}

    def spawn(
        self, context: object, instance: Any, *args: Any, **kwargs: Any
    ) -> None:
        """Build a server, for as many seconds as its metadata asks for.

        A real hypervisor takes some time to fetch an image; with the metadata
        build_seconds this one does, too. If a share of builds is to fail, they
        are chosen by server and host, so that another host may build the
        server.
        """
        time.sleep(float(instance.metadata.get('build_seconds', 0)))
        share = share_of_failures(pathlib.Path(nova.conf.CONF.state_path))
        lot = zlib.crc32(f'{instance.uuid} {self._host}'.encode()) % 100
        if share.exists() and lot < int(share.read_text()):
            raise RuntimeError('This build was chosen to fail')
        super().spawn(context, instance, *args, **kwargs)

    def get_diagnostics(self, instance: Any) -> dict[str, int]:
        """Return what a server has used, by the load that a story has set."""
        now = time.monotonic()
        if instance.uuid not in self._machines:
            self._machines[instance.uuid] = load.Machine(
                instance.flavor.vcpus, instance.flavor.memory_mb, now
            )
        directory = pathlib.Path(nova.conf.CONF.state_path)
        return self._machines[instance.uuid].run(
            load.read(directory, instance.uuid), now
        )

    def snapshot(
        self,
        context: Any,
        instance: Any,
        image_id: str,
        update_task_state: Callable[..., None],
    ) -> None:
        """Upload an image of the server, as a real hypervisor does."""
        super().snapshot(context, instance, image_id, update_task_state)
        glance.API().update(
            context,
            image_id,
            {'disk_format': 'raw', 'container_format': 'bare'},
            data=io.BytesIO(b'\0' * 512),
        )
