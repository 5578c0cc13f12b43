# SPDX-License-Identifier: Apache-2.0
"""Values of options: numbers, sizes, comparisons, in the words of argparse."""

import argparse
from collections.abc import Mapping
import contextlib
import json
import re
from typing import Any

_PROPERTY = re.compile(
    r'(?P<key>[^=!<>\s]+)\s*(?P<is>[<>!=]?=|[<>])(?P<value>.*)'
)
_SIZE = re.compile(
    r'(?P<number>[0-9]{1,9})(?P<unit>[MGT]?)i?B?', re.IGNORECASE
)
_MIB = {'M': 1, 'G': 1024, 'T': 1024**2}
_GIB = {'G': 1, 'T': 1024}


def whole(text: str) -> int:
    """For argparse.

    :raises: ArgumentTypeError
    """
    if text.isascii() and text.isdecimal():
        return int(text)
    raise argparse.ArgumentTypeError(f'{text} is no whole number')


def host_range(text: str) -> tuple[int, int]:
    """Return the minimum and maximum in ``3`` or ``2-5``.

    :raises: ArgumentTypeError
    """
    minimum, dash, maximum = text.partition('-')
    with contextlib.suppress(argparse.ArgumentTypeError):
        least = whole(minimum)
        most = whole(maximum) if dash else least
        if 1 <= least <= most:
            return least, most
    raise argparse.ArgumentTypeError(
        f'{text} is neither a number of hosts, such as 3, nor a range, such '
        'as 2-5'
    )


def memory(text: str) -> int:
    """Return MiB; ``8G`` or ``512M``; a number alone is MiB, as in flavors.

    :raises: ArgumentTypeError
    """
    return _sized(text, _MIB, 'M', '512M or 8G')


def disk(text: str) -> int:
    """Return GiB; ``20G``; a number alone is GiB, as in flavors.

    :raises: ArgumentTypeError
    """
    return _sized(text, _GIB, 'G', '20G or 1T')


def _sized(text: str, units: Mapping[str, int], usual: str, such: str) -> int:
    found = _SIZE.fullmatch(text)
    unit = found['unit'].upper() or usual if found else ''
    if not found or unit not in units:
        raise argparse.ArgumentTypeError(f'{text} is no size, such as {such}')
    return int(found['number']) * units[unit]


def compared(text: str) -> list[str]:
    """Return a comparison of a property: ``gpu=a100``, ``vcpus>=16``.

    :raises: ArgumentTypeError
    """
    found = _PROPERTY.fullmatch(text)
    if not found or not found['value'].strip():
        raise argparse.ArgumentTypeError(
            f'{text} compares no property, such as gpu=a100, gpu!=a100 or '
            '"vcpus>=16": "openstack lease property list" shows those there '
            'are'
        )
    how = '==' if found['is'] == '=' else found['is']
    return [how, f'${found["key"]}', found['value'].strip()]


def typed(text: str) -> tuple[str, dict[str, Any]]:
    """Return the type and the fields in ``licence,seats=5``.

    :raises: ArgumentTypeError
    """
    kind, *pairs = text.split(',')
    fields = dict(pair.partition('=')[::2] for pair in pairs)
    if not kind or any('=' not in pair for pair in pairs):
        raise argparse.ArgumentTypeError(
            f'{text} is no type with its fields, such as licence,seats=5'
        )
    return kind, {key: _value(value) for key, value in fields.items()}


def _value(text: str) -> Any:
    if text in ('true', 'false'):
        return text == 'true'
    return int(text) if text.isascii() and text.isdecimal() else text


def json_object(text: str) -> dict[str, Any]:
    """:raises: ArgumentTypeError"""
    try:
        found = json.loads(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(
            f'not JSON: {error}; --resource TYPE,KEY=VALUE needs none'
        ) from error
    if not isinstance(found, dict):
        raise argparse.ArgumentTypeError('not a JSON object')
    return found
