# SPDX-License-Identifier: Apache-2.0
"""A request to the lease API, with what an action needs to answer it."""

from collections.abc import Callable
from collections.abc import Mapping
import dataclasses
import datetime
from typing import Any
import urllib.parse

import nova.conf
import webob

from nova_reservations import bootstrap


@dataclasses.dataclass(frozen=True, slots=True)
class LeaseRequest:
    """A request as an action gets it.

    :ivar path: of the request, below the mount.
    :ivar build: returns the services; they are not there before they are
        needed.
    """

    request: webob.Request
    path: str
    build: Callable[[], bootstrap.Services]

    @property
    def services(self) -> bootstrap.Services:
        return self.build()

    @property
    def context(self) -> Any:
        """Nova's RequestContext, from the filters outside of ours."""
        return self.request.environ['nova.context']

    def now(self) -> datetime.datetime:
        """Return the time by which leases start and end.

        What is planned must not be by a wrong clock. To look, and to delete,
        any will do.

        :raises: ClocksDisagree, DatabaseUnavailable
        """
        if self.request.method in ('POST', 'PUT'):
            return self.services.clock.now()
        return self.services.database.now()

    @property
    def url(self) -> str:
        """Return the request's URL without its query, as clients reach it."""
        url: str = self.request.path_url
        # What an operator tells Nova about a proxy holds for us.
        prefix = nova.conf.CONF.api.compute_link_prefix
        if prefix:
            return prefix.rstrip('/') + urllib.parse.urlsplit(url).path
        return url

    @property
    def mount(self) -> str:
        """Return the URL that the paths of the routes are below.

        Only for requests to paths that name nothing.
        """
        return self.url.removesuffix(self.path)

    def next_link(
        self, query: Mapping[str, Any], marker: str
    ) -> list[dict[str, str]]:
        """Return the link to the page that begins after marker."""
        parameters = urllib.parse.urlencode(
            {**query, 'marker': marker}, doseq=True
        )
        return [{'rel': 'next', 'href': f'{self.url}?{parameters}'}]
