# SPDX-License-Identifier: Apache-2.0
"""Copies of a region after a story, that is, after some events in it.

A copy takes a fraction of the time that the story takes.
"""

from collections.abc import Callable
from collections.abc import Sequence
import copy
import dataclasses
import functools
import pathlib
import tempfile
from typing import Any

import sqlalchemy as sa

from nova_reservations import objects
from nova_reservations.plugins.monitors import base as monitor
from nova_reservations.testing import fake_state
from nova_reservations.testing import options
from nova_reservations.testing import region as regions
from nova_reservations.types import base
from nova_reservations.types.servers import host
from nova_reservations.types.servers import monitor as compute

Story = Callable[[regions.Region], objects.Lease]


@dataclasses.dataclass(frozen=True, slots=True)
class Kinds:
    """The resource types of a region, by name, and the monitors."""

    types: tuple[tuple[str, type[base.ResourceType]], ...]
    monitors: tuple[type[monitor.Monitor], ...]

    @property
    def options(self) -> dict[str, Any]:
        return {'types': dict(self.types), 'monitors': self.monitors}


HOSTS = Kinds(((objects.HOST, host.PhysicalHost),), (compute.ComputeMonitor,))


def after(
    factory: regions.Factory, story: Story, *names: str, kinds: Kinds = HOSTS
) -> tuple[regions.Region, objects.Lease]:
    """Return a region with these hosts after a story, as another process would
    find it, and the lease that the story has returned.

    :param story: it may only change data of the region, and no methods
    """
    moment, lease = _moment(story, names, kinds)
    region = _Copy(factory.file(), moment, kinds)
    factory.made.append(region)
    return region, lease


@functools.cache
def _moment(
    story: Story, names: Sequence[str], kinds: Kinds
) -> tuple['_Moment', objects.Lease]:
    with tempfile.TemporaryDirectory() as directory:
        factory = regions.Factory(pathlib.Path(directory))
        region = factory(*names, **kinds.options)
        lease = story(region)
        for part in (
            'hosts',
            'aggregates',
            'servers',
            'slots',
            'networks',
            'segments',
        ):
            assert vars(getattr(region.cloud, part)).keys() == {'_state'}
        factory.close()
        return _Moment(region), lease


class _Moment:
    """The state of a closed region that other processes see, and its clock."""

    def __init__(self, region: regions.Region) -> None:
        self.content = _file(region.database.url).read_bytes()
        self.now = region.now
        self.notes = region.notes
        chosen = region.opts.reservations
        defaults = options.defaults().reservations
        self.overrides = {
            name: chosen[name]
            for name in chosen
            if chosen[name] != defaults[name]
        }
        self._cloud = _state(region.cloud)

    def cloud(self) -> dict[str, Any]:
        return copy.deepcopy(self._cloud)


class _Copy(regions.Region):
    def __init__(
        self, file: pathlib.Path, moment: _Moment, kinds: Kinds
    ) -> None:
        self._moment = moment
        file.write_bytes(moment.content)
        super().__init__(
            f'sqlite:///{file}', overrides=moment.overrides, **kinds.options
        )

    def _begin(self, names: Sequence[str], enrolled: bool) -> None:
        self.now = self._moment.now
        self.notes = list(self._moment.notes)
        vars(self.cloud).update(self._moment.cloud())


def _state(cloud: fake_state.State) -> dict[str, Any]:
    """Return the attributes of a cloud that are data."""
    plain = fake_state.State({})
    return {
        name: value
        for name, value in vars(cloud).items()
        if name in vars(plain) and name not in ('before', '_lock')
    }


def _file(url: str) -> pathlib.Path:
    return pathlib.Path(sa.make_url(url).database or '')
