# SPDX-License-Identifier: Apache-2.0
"""The upgrade check of the section [reservations] of nova.conf."""

from collections.abc import Iterator
import contextlib
import difflib
import pathlib
from typing import Any

from oslo_config import cfg
from oslo_messaging import opts as messaging

from nova_reservations import conf as configuration
from nova_reservations.conf import reservations

GROUP = reservations.GROUP.name

SIMILAR = 0.8
"""The similarity from which on a section counts as ours, misspelt. Sections of
other packages are not registered in this process, so they are unknown, too."""


def failures(conf: cfg.ConfigOpts) -> Iterator[str]:
    """Yield an error for each option with an invalid value."""
    for option in reservations.OPTS:
        try:
            _ = conf[GROUP][option.dest]
        except cfg.Error as error:
            yield str(error)


def failures_of_others(conf: cfg.ConfigOpts) -> Iterator[str]:
    """Yield an error for each option of other packages, as far as this process
    knows it, that the configuration files give an invalid value."""
    # oslo.messaging registers some of its options with the first message.
    for group, known in messaging.list_opts():
        with contextlib.suppress(cfg.DuplicateOptError):
            conf.register_opts(known, group)
    groups = {name.lower(): name for name in conf}
    for section, written in _sections(conf).items():
        group = groups.get(section.lower())
        if section == 'DEFAULT':
            options: Any = conf
        elif group is None or group == GROUP:
            continue
        else:
            options = conf[group]
        for name in written:
            try:
                _ = options[name.replace('-', '_')]
            except cfg.NoSuchOptError:
                continue
            except cfg.Error as error:
                yield str(error)


def warnings(conf: cfg.ConfigOpts) -> Iterator[str]:
    """Yield options and sections that nobody reads. oslo.config ignores these
    silently, so that for example a misspelt limit would limit nothing."""
    known = _names()
    for name in sorted(_written(conf) - known):
        near = difflib.get_close_matches(name, known, 1)
        yield f'[{GROUP}] {name} is no option of this version' + (
            f'; is {near[0]} meant?' if near else ''
        )
    ours = {group.name for group, _ in configuration.list_opts()}
    for section in sorted(_sections(conf)):
        # oslo.config finds sections like this, too.
        if section.lower() in ours or section in conf:
            continue
        near = difflib.get_close_matches(section.lower(), ours, 1, SIMILAR)
        if near:
            yield f'[{section}] is read by nobody; is [{near[0]}] meant?'


def _names() -> set[str]:
    """Return the names of all options, and the old names of renamed ones."""
    return {
        name
        for option in reservations.OPTS
        for name in (
            option.name,
            *(old.name for old in option.deprecated_opts if old.name),
        )
    }


def _written(conf: cfg.ConfigOpts) -> set[str]:
    """Return the names of options that the configuration files have in our
    section."""
    return {
        name
        for section, options in _sections(conf).items()
        # oslo.config ignores the case of sections, too.
        if section.lower() == GROUP
        for name in options
    }


def _sections(conf: cfg.ConfigOpts) -> dict[str, dict[str, list[str]]]:
    """Return section -> option -> values in the configuration files."""
    sections: dict[str, dict[str, list[str]]] = {}
    for path in _files(conf):
        cfg.ConfigParser(str(path), sections).parse()
    return sections


def _files(conf: cfg.ConfigOpts) -> Iterator[pathlib.Path]:
    """Return the files that oslo.config has read."""
    yield from map(pathlib.Path, conf.config_file or ())
    for directory in conf.config_dir or ():
        yield from sorted(pathlib.Path(directory).glob('*.conf'))
