# SPDX-License-Identifier: Apache-2.0
"""A cloud that members share, and what its operators do about it."""

from sandbox import ini
from sandbox import story
from sandbox.stories import billed
from sandbox.stories import from_outside
from sandbox.stories import limiting
from sandbox.stories import scraped
from sandbox.stories import sharing
from sandbox.stories import upkeep

CONF: ini.Sections = {
    **limiting.CONF,
    'reservations': {
        **limiting.CONF['reservations'],
        **billed.CONF['reservations'],
        'resource_types': 'physical:host,virtual:instance,flavor:instance,'
        f'virtual:server,{from_outside.TYPE}',
    },
    'licences': from_outside.CONF['licences'],
}


def tell(auth_url: str, timeline: story.Timeline) -> None:
    """Govern a shared cloud: limits, maintenance, a class, bills, metrics."""
    limited = limiting.Limiting(auth_url, timeline)
    limited.enrol()
    limited.tell()
    upkeep.Upkeep(auth_url, timeline).tell()
    sharing.Sharing(auth_url, timeline).tell()
    billed.Billed(auth_url, timeline).tell()
    scraped.Scraped(auth_url, timeline).tell()
