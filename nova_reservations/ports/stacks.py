# SPDX-License-Identifier: Apache-2.0
"""Stacks of Heat, which leases have made for their projects."""

from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
from typing import Any
from typing import Protocol

from nova_reservations.ports.calls import Check
from nova_reservations.ports.made import Made
from nova_reservations.ports.made import Mark


@dataclasses.dataclass(frozen=True, slots=True)
class Template:
    """:ivar text: as Heat reads it.

    :ivar parameters: name -> value.
    """

    text: str
    parameters: Mapping[str, Any]


@dataclasses.dataclass(frozen=True, slots=True)
class Standing:
    """The contents of our tokens for a project.

    :ivar roles: their names.
    :ivar services: types of what is in keystone's catalog, such as
        ``compute``.
    """

    roles: Collection[str]
    services: Collection[str]


@dataclasses.dataclass(frozen=True, slots=True)
class StackResource:
    """A resource that a template would make.

    :ivar kind: such as ``OS::Nova::Server``.
    :ivar properties: as Heat has resolved them; a value of None is not known
        yet.
    :ivar parent: the resource of the template that makes it; None: it is of
        the template itself.
    """

    name: str
    kind: str
    properties: Mapping[str, Any]
    parent: str | None = None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Stack(Made):
    """:ivar action: the last that was asked of it, such as ``CREATE``.

    :ivar status: how that goes: ``IN_PROGRESS``, ``COMPLETE`` or ``FAILED``.
    :ivar reason: the reason for the status, in Heat's words.
    """

    name: str
    action: str
    status: str
    reason: str = ''

    @property
    def state(self) -> str:
        """Action and status, as Heat shows them."""
        return f'{self.action}_{self.status}'


class Stacks(Protocol):
    """The part of Heat that leases of stacks need; all requests are made as
    the project, with a token for that project alone."""

    def standing_in(self, project_id: str) -> Standing | None:
        """Return what our tokens of the project contain; None: we can get no
        such tokens.

        :raises: CloudUnavailable
        """

    def services(self) -> Collection[str]:
        """Return the types of the services in keystone's catalog for
        ourselves.

        :raises: CloudUnavailable
        """

    def inherited_roles(self) -> Collection[str]:
        """Return the roles that we also have in projects that are made
        later."""

    def preview(
        self, templates: Sequence[Template], project_id: str
    ) -> Sequence[Collection[StackResource]]:
        """Return all that each of the templates of a request would make, in
        nested stacks too.

        :raises: CloudRefused if Heat can not read one, the project may not use
            it, or it makes more than can be looked at
        :raises: CloudSlow if that takes longer than a request may
        """

    def find(self, reservation_id: str, project_id: str) -> Stack | None:
        """Return the stack of a reservation.

        :raises: CloudRefused if there are no tokens of the project
        """

    def find_marked(self, project_id: str) -> Collection[Stack]:
        """Return all stacks of reservations in a project.

        :raises: CloudRefused if there are no tokens of the project
        """

    def create(
        self, template: Template, project_id: str, mark: Mark, check: Check
    ) -> None:
        """Have Heat make the stack of a reservation; it is not there yet when
        this returns. One that is there already is fine.

        :raises: CloudRefused
        """

    def suspend(self, stack: Stack, check: Check) -> None:
        """Have Heat suspend a stack. Nothing happens while Heat does something
        else with it. One that is gone is fine.

        :raises: CloudRefused
        """

    def delete(self, stack: Stack, check: Check) -> None:
        """Have Heat delete a stack; one that is gone is fine.

        :raises: CloudRefused
        """
