# SPDX-License-Identifier: Apache-2.0
"""The upgrade check of api-paste.ini."""

from collections.abc import Iterator
import configparser

from paste.deploy import loadwsgi

PASTE_FILTER = 'nova_reservations.api.middleware:Reservations.factory'
FILTER = 'reservations'
CONTEXT = 'keystonecontext'
APPLICATION = 'osapi_compute_app_v21'
"""The application at the end of each pipeline of the compute API."""


def failures(path: str) -> list[str]:
    """Return what the file lacks."""
    try:
        parser = loadwsgi.ConfigLoader(path).parser
        findings = [*_filter_findings(parser), *_pipeline_findings(parser)]
    except (OSError, UnicodeDecodeError, configparser.Error) as error:
        return [f'It can not be read: {error}']
    return findings


def _filter_findings(parser: configparser.ConfigParser) -> Iterator[str]:
    section = f'filter:{FILTER}'
    if (
        parser.get(section, 'paste.filter_factory', fallback=None)
        != PASTE_FILTER
    ):
        yield 'The filter is not defined. Add:'
        yield f'  [{section}]'
        yield f'  paste.filter_factory = {PASTE_FILTER}'


def _pipeline_findings(parser: configparser.ConfigParser) -> Iterator[str]:
    pipelines = [
        (section, value.split())
        for section in parser.sections()
        for _, value in parser.items(section)
        if value.split()[:-1] and value.split()[-1] == APPLICATION
    ]
    if not pipelines:
        yield (
            f'No pipeline ends in {APPLICATION}: this is not the file of '
            'nova-api'
        )
    for section, names in pipelines:
        if FILTER not in names:
            yield (
                f'[{section}] lacks "{FILTER}", and its requests are not '
                f'checked against leases: write it right after {CONTEXT}'
            )
        elif CONTEXT in names[names.index(FILTER) :]:
            yield (
                f'[{section}] has "{FILTER}" before {CONTEXT}, which it '
                'needs: write it right after'
            )
