# SPDX-License-Identifier: Apache-2.0
"""Base class of resource types that upgrade checks ask."""

import abc
from collections.abc import Iterator
from typing import ClassVar

from nova_reservations.types import base


class Checked(base.ResourceType):
    """A type that finds what is not as it needs it in the configuration and
    in its service.

    ``nova-reservations-status upgrade check`` asks those that are switched
    on. Of types that lease the same resources it asks one.

    :cvar check_name: the name of the check; types may share one.
    """

    check_name: ClassVar[str]

    @abc.abstractmethod
    def setup_failures(self) -> Iterator[str]:
        """Yield why leases of the type can't start or end, with what to do
        about it.

        :raises: CloudUnavailable
        """

    def setup_warnings(self) -> Iterator[str]:
        """Yield why some can't; asked for if there are no failures.

        :raises: CloudUnavailable
        """
        yield from ()
