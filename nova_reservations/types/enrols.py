# SPDX-License-Identifier: Apache-2.0
"""Base class of resource types whose resources are places in a service."""

import abc
from collections.abc import Collection
from collections.abc import Mapping
from typing import Any
from typing import ClassVar

from nova_reservations import objects
from nova_reservations.types import base


class Enrols(base.ResourceType):
    """A type whose resources operators add by what the service calls them,
    such as an address of a network.

    The service must not give such a place to anybody by itself.

    :cvar enrolled_by: what operators add them by, such as
        ``.../floatingips``; for refusals of ``resource add``.
    """

    enrolled_by: ClassVar[str]

    @abc.abstractmethod
    def enrol(self, asked: Mapping[str, Any]) -> tuple[str, Mapping[str, str]]:
        """Return the name of the resource at a place, and the properties that
        follow from where it is.

        :param asked: the body of the request
        :raises: InvalidInput if the service may give the place to anybody
        :raises: NotFound, CloudUnavailable
        """

    @abc.abstractmethod
    def check_unused(self, name: str) -> None:
        """Refuse a new resource at whose place there is something already.

        :raises: InvalidState, CloudUnavailable
        """

    def seen(
        self, known: Collection[objects.Inventoried], project_id: str
    ) -> list[objects.Inventoried]:
        """Return those of the resources that a project may see.

        :raises: CloudUnavailable
        """
        return [*known]
