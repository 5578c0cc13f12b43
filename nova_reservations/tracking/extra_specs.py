# SPDX-License-Identifier: Apache-2.0
"""The extra specs by which flavors ask for resources that plugins track.

The extra spec ``reservations:<resource>`` is an amount of it, in the unit of
its plugin.
"""

from collections.abc import Mapping
import decimal
import re

from nova_reservations import exception
from nova_reservations.tracking import stats

PREFIX = 'reservations:'

NO_RESOURCES = frozenset({f'{PREFIX}reservation'})
"""Keys that name no resource: by it a flavor says whose slots it takes."""

AMOUNT = r'[0-9]{1,12}(\.[0-9]{1,6})?'
"""The form of an amount: no sign, no exponent."""


def amounts(extra_specs: Mapping[str, str]) -> dict[str, decimal.Decimal]:
    """Return name of a resource -> amount, of all that are asked for.

    :param extra_specs: of a flavor, as it is stored with a server
    :raises: InvalidInput
    """
    names = (
        key.removeprefix(PREFIX)
        for key in extra_specs
        if key.startswith(PREFIX) and key not in NO_RESOURCES
    )
    return {name: amount(extra_specs, name) for name in names}


def amount(extra_specs: Mapping[str, str], name: str) -> decimal.Decimal:
    """Return how much of the resource is asked for; 0 if nothing is said.

    :raises: InvalidInput
    """
    if not stats.NAME.fullmatch(name):
        raise exception.InvalidInput(
            reason=f'the extra spec {PREFIX}{name[:80]} of the flavor is not '
            'named after a resource'
        )
    return _first(extra_specs, PREFIX + name)


def cu(extra_specs: Mapping[str, str]) -> decimal.Decimal:
    """Return compute units; who asks placement for them, asks for them.

    :raises: InvalidInput
    """
    return _first(extra_specs, f'{PREFIX}cu', 'resources:CUSTOM_CU')


def bandwidth(
    extra_specs: Mapping[str, str],
) -> tuple[decimal.Decimal, decimal.Decimal]:
    """Return Mbit/s in and out, of one interface.

    By name in both directions, or what Nova limits it to, kilobytes/s.

    :raises: InvalidInput
    """
    if f'{PREFIX}bandwidth' in extra_specs:
        both = amount(extra_specs, 'bandwidth')
        return both, both
    return (
        _first(extra_specs, 'quota:vif_inbound_average') * _MBIT,
        _first(extra_specs, 'quota:vif_outbound_average') * _MBIT,
    )


_MBIT = decimal.Decimal(8) / 1000


def _first(extra_specs: Mapping[str, str], *names: str) -> decimal.Decimal:
    """Return the amount in the first of these that is there; 0 if none is.

    :raises: InvalidInput
    """
    for name in names:
        text = extra_specs.get(name)
        if text is None:
            continue
        if not re.fullmatch(AMOUNT, text):
            raise exception.InvalidInput(
                reason=f'the extra spec {name}={text[:40]} of the flavor is '
                'no amount of a resource'
            )
        return decimal.Decimal(text)
    return decimal.Decimal(0)
