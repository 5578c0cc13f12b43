# SPDX-License-Identifier: Apache-2.0
"""Shapes: names of resource classes, and how a provider must give their units.

The amounts of a slot are keyed by such names. A plain resource class means
that each unit may be of another provider. A name can also say how many units
must be of the same provider, and which traits that provider must have or not
have: ``VGPU/2``, ``VGPU/1+CUSTOM_FAST!CUSTOM_OLD``. Amounts count units in
either case.

Decision 0052: doc/source/decisions/0052-whoever-comes-first
"""

from collections.abc import Iterable
import dataclasses
import functools
import re

OF_HOSTS = frozenset({'VCPU', 'PCPU', 'MEMORY_MB', 'DISK_GB'})
"""Resource classes that are looked for in the host's own provider only."""

LONGEST = 255
"""Characters of a name, which the database stores."""

_NAME = re.compile(
    r'(?P<name>[^/]+)(/(?P<units>\d+)(?P<anywhere>~?)(?P<traits>[+!].*)?)?'
)
_TRAIT = re.compile(r'([+!])([^+!]+)')


@dataclasses.dataclass(frozen=True, slots=True)
class Shape:
    """The demand of a group of a request on one provider.

    :ivar units: of the resource class.
    :ivar anywhere: a required trait may also be the host's own.
    """

    resource_class: str
    units: int = 1
    required: frozenset[str] = frozenset()
    forbidden: frozenset[str] = frozenset()
    anywhere: bool = False

    @property
    def is_plain(self) -> bool:
        """Return whether each unit may be of another provider."""
        return self.units == 1 and not (self.required or self.forbidden)

    @property
    def name(self) -> str:
        if self.is_plain:
            return self.resource_class
        traits = [f'+{trait}' for trait in sorted(self.required)]
        traits += [f'!{trait}' for trait in sorted(self.forbidden)]
        anywhere = '~' if self.anywhere and self.required else ''
        return f'{self.resource_class}/{self.units}{anywhere}' + ''.join(
            traits
        )


@functools.lru_cache(maxsize=4096)
def parse(name: str) -> Shape:
    """Return what a name stands for."""
    match = _NAME.fullmatch(name)
    if match is None:
        raise ValueError(name)
    traits = _TRAIT.findall(match['traits'] or '')
    return Shape(
        match['name'],
        int(match['units'] or 1),
        frozenset(trait for sign, trait in traits if sign == '+'),
        frozenset(trait for sign, trait in traits if sign == '!'),
        anywhere=bool(match['anywhere']),
    )


def class_of(name: str) -> str:
    return name.partition('/')[0]


def classes(names: Iterable[str]) -> set[str]:
    return {class_of(name) for name in names}
