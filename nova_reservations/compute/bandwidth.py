# SPDX-License-Identifier: Apache-2.0
"""The resource ``bandwidth``: Mbit/s of the links that servers share."""

from collections.abc import Iterator
import decimal
import pathlib
from typing import Any

from oslo_config import cfg

from nova_reservations import exception
from nova_reservations.compute import resources
from nova_reservations.tracking import extra_specs


class Bandwidth(resources.Resource):
    """Mbit/s of the links that servers share, in each direction.

    What a server takes is ``reservations:bandwidth`` in both directions, or
    what ``quota:vif_inbound_average`` and ``quota:vif_outbound_average`` limit
    it to. These quotas apply to each of its interfaces, of which one is
    counted.
    """

    interfaces = pathlib.Path('/sys/class/net')

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        super().__init__(conf)
        self.total = 0
        self.inbound = decimal.Decimal(0)
        self.outbound = decimal.Decimal(0)

    def reset(self, host: resources.Host) -> None:
        self.total = self._capacity()
        self.inbound = self.outbound = decimal.Decimal(0)

    def add_instance(self, usage: resources.Usage) -> None:
        inbound, outbound = _counted(usage)
        self.inbound += inbound
        self.outbound += outbound

    def remove_instance(self, usage: resources.Usage) -> None:
        inbound, outbound = _counted(usage)
        self.inbound -= inbound
        self.outbound -= outbound

    def test(self, usage: resources.Usage) -> str | None:
        try:
            rates = extra_specs.bandwidth(usage.extra_specs)
        except exception.InvalidInput as error:
            return str(error)
        for way, rate, used in zip(
            ('in', 'out'), rates, (self.inbound, self.outbound), strict=True
        ):
            free = self.total - used
            if rate and rate > free:
                return (
                    f'{resources.number(rate)} Mbit/s {way} asked, '
                    f'{resources.number(free)} of {self.total} free'
                )
        return None

    def write(self) -> dict[str, Any]:
        return {
            'total': self.total,
            'used': resources.number(max(self.inbound, self.outbound)),
            'inbound': resources.number(self.inbound),
            'outbound': resources.number(self.outbound),
        }

    def _capacity(self) -> int:
        configured = self.conf.resource_plugins.bandwidth_capacity
        if configured:
            return int(configured)
        found = sum(_speed(link) for link in self._links())
        if not found:
            raise resources.Unavailable(
                'no link has a speed; see [resource_plugins] '
                'bandwidth_capacity and bandwidth_interfaces'
            )
        return found

    def _links(self) -> Iterator[pathlib.Path]:
        names = self.conf.resource_plugins.bandwidth_interfaces
        if names:
            yield from (self.interfaces / name for name in names)
        elif self.interfaces.is_dir():
            yield from (
                link
                for link in self.interfaces.iterdir()
                # Links that are made of others, and virtual functions, do not
                # count.
                if (link / 'device').exists()
                and not (link / 'device' / 'physfn').exists()
            )


def _speed(link: pathlib.Path) -> int:
    """Return Mbit/s; 0 for a link that is down or does not know."""
    try:
        return max(0, int((link / 'speed').read_text()))
    except (OSError, ValueError):
        return 0


def _counted(
    usage: resources.Usage,
) -> tuple[decimal.Decimal, decimal.Decimal]:
    try:
        return extra_specs.bandwidth(usage.extra_specs)
    except exception.InvalidInput:
        return decimal.Decimal(0), decimal.Decimal(0)
