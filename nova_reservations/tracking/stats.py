# SPDX-License-Identifier: Apache-2.0
"""The figures that plugins on a compute host tell the scheduler, as stats of
its node.

Nova keeps ``ComputeNode.stats`` as text -> text and reads them back as such:
each plugin has one key, ``reservations:<name>``, whose value is JSON, and
``reservations:plugins`` tells which plugins there are. The same figures are
always the same text, so that Nova saves nothing that has not changed.
"""

from collections.abc import Mapping
import dataclasses
import json
import re
from typing import Any

from nova_reservations import exception

PREFIX = 'reservations:'
"""The beginning of every key of ours; Nova's own have no colon."""

PLUGINS = 'plugins'
"""The name that no plugin may have: its key tells of all of them."""

FORMAT = 1
"""Changes when what was written before can't be read as what it was."""

LIMIT = 8 * 1024
"""Bytes of all our keys and values; Nova's column has 64 KiB for all."""

NAME = re.compile(r'[a-z0-9][a-z0-9_.-]{0,62}')
"""The form of a plugin's name: it is part of keys and of extra specs."""


def is_name(name: str) -> bool:
    """Return whether a plugin may have this name."""
    return name != PLUGINS and NAME.fullmatch(name) is not None


@dataclasses.dataclass(frozen=True, slots=True)
class Report:
    """The report of one plugin on a host.

    :ivar version: of its figures; the plugin's own to count.
    :ivar figures: plain JSON. A plain quantity has numbers ``total``, what
        may be handed out, and ``used``, what is.
    """

    version: int
    figures: Mapping[str, Any]


@dataclasses.dataclass(frozen=True, slots=True)
class Plugins:
    """The plugins that a host has been told to use.

    :ivar running: name -> version of the figures.
    :ivar off: name -> why it reports nothing.
    """

    running: Mapping[str, int]
    off: Mapping[str, str]


def encode(reports: Mapping[str, Report], plugins: Plugins) -> dict[str, str]:
    """Return key -> text.

    :raises: InvalidFigures, naming the plugin that is to blame: where all
        together are over the limit, the one that says most
    """
    texts = {
        name: _encode(name, report.version, report.figures)
        for name, report in reports.items()
    }
    told = _text(
        {
            'format': FORMAT,
            'off': dict(plugins.off),
            'running': dict(plugins.running),
        }
    )
    keys = {PREFIX + name: text for name, text in texts.items()}
    keys[PREFIX + PLUGINS] = told
    size = sum(len(key) + len(text) for key, text in keys.items())
    if size > LIMIT:
        longest = max(texts, key=lambda name: len(texts[name]), default='')
        raise exception.InvalidFigures(
            plugin=longest or 'all plugins',
            reason=f'{size} bytes in all, of at most {LIMIT}',
        )
    return keys


def decode(stats: Mapping[str, Any] | None, name: str) -> Report | None:
    """Return what a plugin of this name said; None if there is none.

    :param stats: of a compute node or host state, whoever wrote them
    :raises: UnreadableStats
    """
    fields = _decode(stats, name)
    if fields is None:
        return None
    version = fields.get('version')
    figures = fields.get('figures')
    if type(version) is not int or not isinstance(figures, dict):
        raise exception.UnreadableStats(
            plugin=name, reason='it has no version, or no figures'
        )
    return Report(version, figures)


def plugins(stats: Mapping[str, Any] | None) -> Plugins | None:
    """Return which plugins a host uses; None if it tells nothing of it.

    :raises: UnreadableStats
    """
    fields = _decode(stats, PLUGINS)
    if fields is None:
        return None
    running: Any = fields.get('running')
    off: Any = fields.get('off')
    if not _is_mapping_to(int, running) or not _is_mapping_to(str, off):
        raise exception.UnreadableStats(
            plugin=PLUGINS, reason='it does not say what runs, or what is off'
        )
    return Plugins(running, off)


def _encode(name: str, version: int, figures: Mapping[str, Any]) -> str:
    if not is_name(name):
        raise exception.InvalidFigures(
            plugin=name, reason='no plugin may have this name'
        )
    if type(version) is not int:
        raise exception.InvalidFigures(
            plugin=name, reason='their version is not a whole number'
        )
    if not isinstance(figures, dict):
        raise exception.InvalidFigures(
            plugin=name, reason='they are not a dict'
        )
    try:
        text = _text(
            {'figures': figures, 'format': FORMAT, 'version': version}
        )
        same = json.loads(text)['figures'] == figures
    except (TypeError, ValueError, RecursionError) as error:
        raise exception.InvalidFigures(
            plugin=name, reason=f'they are not plain JSON: {error}'
        ) from None
    if not same:
        raise exception.InvalidFigures(
            plugin=name, reason='they are read back as something else'
        )
    return text


def _decode(
    stats: Mapping[str, Any] | None, name: str
) -> Mapping[str, Any] | None:
    text = (stats or {}).get(PREFIX + name)
    if text is None:
        return None
    if not isinstance(text, str) or len(text) > LIMIT:
        raise exception.UnreadableStats(
            plugin=name, reason=f'it is no text of up to {LIMIT} characters'
        )
    try:
        fields = _DECODER.decode(text)
    except (ValueError, RecursionError):
        raise exception.UnreadableStats(
            plugin=name, reason='it is not JSON'
        ) from None
    if not isinstance(fields, dict) or fields.get('format') != FORMAT:
        raise exception.UnreadableStats(
            plugin=name, reason=f'it is not of format {FORMAT}'
        )
    return fields


def _text(fields: Mapping[str, Any]) -> str:
    return json.dumps(
        fields, allow_nan=False, separators=(',', ':'), sort_keys=True
    )


def _refuse(constant: str) -> None:
    raise ValueError(f'{constant} is not JSON')


# Made once: a scheduler reads the stats of each host for each request.
_DECODER = json.JSONDecoder(parse_constant=_refuse)


def _is_mapping_to(kind: type, found: object) -> bool:
    return isinstance(found, dict) and all(
        type(value) is kind for value in found.values()
    )
