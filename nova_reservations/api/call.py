# SPDX-License-Identifier: Apache-2.0
"""A request to the lease API, with what an action needs to answer it."""

import dataclasses
import datetime
from typing import Any
import urllib.parse

import webob

from nova_reservations import bootstrap


@dataclasses.dataclass(frozen=True, slots=True)
class Call:
    request: webob.Request
    services: bootstrap.Services

    @property
    def context(self) -> Any:
        """Nova's RequestContext, from the filters outside of ours."""
        return self.request.environ['nova.context']

    def now(self) -> datetime.datetime:
        """The time by which leases start and end."""
        return self.services.database.now()

    def next_link(
        self, query: dict[str, str], marker: str
    ) -> list[dict[str, str]]:
        """Return the link to the page that begins after marker."""
        parameters = urllib.parse.urlencode({**query, 'marker': marker})
        return [
            {'rel': 'next', 'href': f'{self.request.path_url}?{parameters}'}
        ]
