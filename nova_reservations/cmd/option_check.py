# SPDX-License-Identifier: Apache-2.0
"""The upgrade check of what nova.conf has in [reservations]."""

from collections.abc import Iterator
import difflib
import pathlib

from oslo_config import cfg

from nova_reservations import conf as configuration
from nova_reservations.conf import reservations

GROUP = reservations.GROUP.name

SIMILAR = 0.8
"""How much a section must be like ours to be one that is misspelt: there are
sections of other packages, which nobody has registered here."""


def failures(conf: cfg.ConfigOpts) -> Iterator[str]:
    """Say of each option that can't have the value that it has."""
    for option in reservations.OPTS:
        try:
            _ = conf[GROUP][option.dest]
        except cfg.Error as error:
            yield str(error)


def warnings(conf: cfg.ConfigOpts) -> Iterator[str]:
    """Name what is read by nobody, which oslo.config passes over: a limit
    that is misspelt limits nothing."""
    known = _names()
    for name in sorted(_written(conf) - known):
        near = difflib.get_close_matches(name, known, 1)
        yield f'[{GROUP}] {name} is no option of this version' + (
            f'; is {near[0]} meant?' if near else ''
        )
    ours = {group.name for group, _ in configuration.list_opts()}
    for section in sorted(_sections(conf)):
        # As oslo.config finds it.
        if section.lower() in ours or section in conf:
            continue
        near = difflib.get_close_matches(section.lower(), ours, 1, SIMILAR)
        if near:
            yield f'[{section}] is read by nobody; is [{near[0]}] meant?'


def _names() -> set[str]:
    """Return the names of all options, also of those that were renamed."""
    return {
        name
        for option in reservations.OPTS
        for name in (
            option.name,
            *(old.name for old in option.deprecated_opts if old.name),
        )
    }


def _written(conf: cfg.ConfigOpts) -> set[str]:
    """Return the names that the files of the configuration have there."""
    return {
        name
        for section, options in _sections(conf).items()
        # As oslo.config finds it.
        if section.lower() == GROUP
        for name in options
    }


def _sections(conf: cfg.ConfigOpts) -> dict[str, dict[str, list[str]]]:
    """Return what the files of the configuration have, by section."""
    sections: dict[str, dict[str, list[str]]] = {}
    for path in _files(conf):
        cfg.ConfigParser(str(path), sections).parse()
    return sections


def _files(conf: cfg.ConfigOpts) -> Iterator[pathlib.Path]:
    """Return the files that oslo.config has read."""
    yield from map(pathlib.Path, conf.config_file or ())
    for directory in conf.config_dir or ():
        yield from sorted(pathlib.Path(directory).glob('*.conf'))
