# SPDX-License-Identifier: Apache-2.0
"""The resources ``cache`` and ``memory_bandwidth``, by the kernel's resctrl.

Processors can divide two things among groups of tasks: ways of the last cache,
and the bandwidth to memory. Each domain, in general a socket, has its own;
here those of all domains are summed.
"""

from collections.abc import Iterator
import decimal
import pathlib

from nova_reservations.compute import resources
from nova_reservations.tracking import extra_specs


class _Resctrl(resources.Quantity):
    """:cvar schema: as the lines in the files ``schemata`` begin."""

    root = pathlib.Path('/sys/fs/resctrl')
    schema = ''

    def domains(self, group: pathlib.Path) -> dict[str, str]:
        """Return domain -> its share of what is divided, as the kernel
        writes it; none where the processor divides nothing."""
        try:
            lines = (group / 'schemata').read_text().splitlines()
        except OSError:
            return {}
        for line in lines:
            name, _, shares = line.strip().partition(':')
            if name == self.schema:
                return dict(
                    share.split('=', 1) for share in shares.split(';') if share
                )
        return {}

    def found(self) -> dict[str, str]:
        """Return the domains of the host.

        :raises: Unavailable
        """
        if not (self.root / 'info').is_dir():
            raise resources.Unavailable(f'{self.root} is not mounted')
        domains = self.domains(self.root)
        if not domains:
            raise resources.Unavailable(
                f'{self.root} does not divide {self.schema}'
            )
        return domains

    def exclusive(self) -> Iterator[pathlib.Path]:
        """Yield the groups that share nothing with others."""
        for mode in self.root.glob('*/mode'):
            try:
                if mode.read_text().strip() == 'exclusive':
                    yield mode.parent
            except OSError:
                # A group may go at any time.
                continue


class Cache(_Resctrl):
    """KiB of the last level of cache, asked for with ``reservations:cache``.

    What exclusive groups hold is not available to servers.
    """

    schema = 'L3'
    cpus = pathlib.Path('/sys/devices/system/cpu')

    def capacity(self, host: resources.Host) -> decimal.Decimal:
        return self._size() * len(self.found())

    def reserved(self, host: resources.Host) -> decimal.Decimal:
        held = sum(
            int(mask, 16).bit_count()
            for group in self.exclusive()
            for mask in self.domains(group).values()
        )
        return self._size() * held / self._ways()

    def amount(self, usage: resources.Usage) -> decimal.Decimal:
        return extra_specs.amount(usage.extra_specs, 'cache')

    def _ways(self) -> int:
        mask = (self.root / 'info' / 'L3' / 'cbm_mask').read_text()
        return int(mask, 16).bit_count()

    def _size(self) -> decimal.Decimal:
        """Return KiB of the cache of one domain."""
        for index in sorted((self.cpus / 'cpu0' / 'cache').glob('index*')):
            if (index / 'level').read_text().strip() == '3':
                size = (index / 'size').read_text().strip().rstrip('K')
                return decimal.Decimal(size)
        raise resources.Unavailable('the size of the last cache is unknown')


class MemoryBandwidth(_Resctrl):
    """Bandwidth to memory, asked for with ``reservations:memory_bandwidth``.

    In the units of the host's ``schemata``: percent of a domain, or what its
    processor or mount option has instead. Hosts can be compared only if they
    are of one kind.
    """

    schema = 'MB'

    def capacity(self, host: resources.Host) -> int:
        return sum(int(share) for share in self.found().values())

    def amount(self, usage: resources.Usage) -> decimal.Decimal:
        return extra_specs.amount(usage.extra_specs, 'memory_bandwidth')
