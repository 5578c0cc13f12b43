# SPDX-License-Identifier: Apache-2.0
"""A keystone in memory."""

from collections.abc import Iterator
import types
from typing import Any
from typing import ClassVar

from openstack import exceptions as sdk_exceptions

PHYSICS = 'a' * 32
CHEMISTRY = 'c' * 32


class Identity:
    """A keystone with two projects.

    :ivar forbids: whether it forbids to look projects up.
    """

    projects_by_name: ClassVar = {'physics': PHYSICS, 'chemistry': CHEMISTRY}

    def __init__(self) -> None:
        self.forbids = False

    def find_project(self, name: str, ignore_missing: bool) -> Any:
        assert not ignore_missing
        self._check()
        if name not in self.projects_by_name:
            raise sdk_exceptions.NotFoundException(f'No Project for {name}')
        return types.SimpleNamespace(id=self.projects_by_name[name])

    def projects(self) -> Iterator[Any]:
        self._check()
        for name, key in self.projects_by_name.items():
            yield types.SimpleNamespace(id=key, name=name)

    def user_projects(self, user: str) -> list[Any]:
        """The user is in no project but its own."""
        return []

    def _check(self) -> None:
        if self.forbids:
            raise sdk_exceptions.ForbiddenException('You are not authorized')
