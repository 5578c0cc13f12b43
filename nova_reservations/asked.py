# SPDX-License-Identifier: Apache-2.0
"""What flavors ask of the resources that plugins track.

The extra spec ``reservations:<resource>`` is an amount of it, in the unit of
its plugin.
"""

from collections.abc import Mapping
import decimal
import re

from nova_reservations import exception
from nova_reservations import stats

PREFIX = 'reservations:'

AMOUNT = r'[0-9]{1,12}(\.[0-9]{1,6})?'
"""What an amount looks like: no sign, no exponent."""


def amounts(extra_specs: Mapping[str, str]) -> dict[str, decimal.Decimal]:
    """Return name of a resource -> amount, of all that are asked for.

    :param extra_specs: of a flavor, as it is stored with a server
    :raises: InvalidInput
    """
    names = (
        key.removeprefix(PREFIX)
        for key in extra_specs
        if key.startswith(PREFIX)
    )
    return {name: amount(extra_specs, name) for name in names}


def amount(extra_specs: Mapping[str, str], name: str) -> decimal.Decimal:
    """Return how much of the resource is asked for; 0 if nothing is said.

    :raises: InvalidInput
    """
    text = extra_specs.get(PREFIX + name, '0')
    if not stats.NAME.fullmatch(name) or not re.fullmatch(AMOUNT, text):
        raise exception.InvalidInput(
            reason=f'the extra spec {PREFIX}{name}={text} of the flavor is '
            'no amount of a resource'
        )
    return decimal.Decimal(text)
