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

from nova_reservations.engine import assembly


@dataclasses.dataclass(frozen=True, slots=True)
class LeaseRequest:
    """A request as an action gets it.

    :ivar path: the path of the request, below the mount.
    :ivar build: returns the services, which are created at the first use.
    """

    request: webob.Request
    path: str
    build: Callable[[], assembly.Services]

    @property
    def services(self) -> assembly.Services:
        return self.build()

    @property
    def context(self) -> Any:
        """Nova's RequestContext, which filters before ours have made."""
        return self.request.environ['nova.context']

    def check(self, policy: str, project_id: str | None = None) -> None:
        """Check that the caller may do this to what is of a project.

        :param project_id: None: its own
        :raises: PolicyNotAuthorized
        """
        self.context.can(policy, target=self._target(project_id))

    def may(self, policy: str, project_id: str | None = None) -> bool:
        """Return whether the caller passes the same check."""
        return bool(
            self.context.can(
                policy, target=self._target(project_id), fatal=False
            )
        )

    def _target(self, project_id: str | None) -> dict[str, Any]:
        own: str | None = self.context.project_id
        return {'project_id': own if project_id is None else project_id}

    def now(self) -> datetime.datetime:
        """Return the time by which leases start and end.

        Leases must not be planned by a wrong clock, so POST and PUT check the
        clock. For reading and deleting, the database's time is enough.

        :raises: ClocksDisagree, DatabaseUnavailable
        """
        if self.request.method in ('POST', 'PUT'):
            return self.services.clock.now()
        return self.services.database.now()

    @property
    def url(self) -> str:
        """Return the request's URL, without its query, as clients see it."""
        url: str = self.request.path_url
        # Nova's option for a proxy in front of its API applies to us, too.
        prefix = nova.conf.CONF.api.compute_link_prefix
        if prefix:
            return prefix.rstrip('/') + urllib.parse.urlsplit(url).path
        return url

    @property
    def mount(self) -> str:
        """Return the base URL of the paths of the routes.

        Only for requests to paths without values.
        """
        return self.url.removesuffix(self.path)

    def next_link(
        self, query: Mapping[str, Any], marker: str
    ) -> list[dict[str, str]]:
        """Return the link to the page after the marker."""
        parameters = urllib.parse.urlencode(
            {**query, 'marker': marker}, doseq=True
        )
        return [{'rel': 'next', 'href': f'{self.url}?{parameters}'}]
