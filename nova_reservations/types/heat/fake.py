# SPDX-License-Identifier: Apache-2.0
"""The stacks of a cloud in memory. Its Heat knows no function but
``get_param``, and only the count of groups."""

from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import json
from typing import Any
import uuid

from nova_reservations import exception
from nova_reservations import ports
from nova_reservations.testing import fake_state


class FakeStacks:
    def __init__(self, state: fake_state.State) -> None:
        self._state = state

    def standing_in(self, project_id: str) -> ports.Standing | None:
        if project_id in self._state.without_role:
            return None
        return ports.Standing(self._state.roles, self._state.catalog)

    def services(self) -> list[str]:
        return self._state.catalog

    def inherited_roles(self) -> list[str]:
        return [] if self._state.without_role else self._state.roles

    def preview(
        self, templates: Sequence[ports.Template], project_id: str
    ) -> list[list[ports.StackResource]]:
        self._state.check_heat()
        return [self._preview(each) for each in templates]

    def _preview(self, template: ports.Template) -> list[ports.StackResource]:
        found = json.loads(template.text)
        if found['heat_template_version'] == 'unknown':
            raise exception.CloudRefused(
                what='The template', reason='its version is not known'
            )
        return [*_resources(found, template.parameters)]

    def find(self, reservation_id: str, project_id: str) -> ports.Stack | None:
        self._check_role(project_id)
        found = self._state.stacks_made.get(_name(reservation_id))
        return found if found and found.project_id == project_id else None

    def find_marked(self, project_id: str) -> list[ports.Stack]:
        self._check_role(project_id)
        return [
            each
            for each in self._state.stacks_made.values()
            if each.project_id == project_id and each.is_tagged
        ]

    def _check_role(self, project_id: str) -> None:
        """:raises: CloudRefused, CloudUnavailable"""
        self._state.check_heat()
        if project_id in self._state.without_role:
            raise exception.CloudRefused(
                what='A token of the project', reason='no role in it'
            )

    def create(
        self,
        template: ports.Template,
        project_id: str,
        mark: ports.Mark,
        check: ports.Check,
    ) -> None:
        check()
        self._state.write('create stack')
        self._state.check_heat()
        if project_id in self._state.without_quota:
            raise exception.CloudRefused(
                what='The stack', reason='too many stacks'
            )
        name = _name(mark.reservation_id)
        if name not in self._state.stacks_made:
            self._state.stacks_made[name] = ports.Stack(
                id=str(uuid.uuid4()),
                project_id=project_id,
                words=frozenset(mark.tags),
                is_tagged=True,
                name=name,
                action='CREATE',
                status='IN_PROGRESS',
            )
            self._state.stack_templates[name] = json.loads(template.text)
        self._hurry()

    def suspend(self, stack: ports.Stack, check: ports.Check) -> None:
        self._begin('SUSPEND', stack, check)

    def delete(self, stack: ports.Stack, check: ports.Check) -> None:
        self._begin('DELETE', stack, check)

    def _begin(
        self, action: str, stack: ports.Stack, check: ports.Check
    ) -> None:
        check()
        self._state.write(f'{action.lower()} stack')
        self._state.check_heat()
        if stack.name in self._state.stacks_made:
            self._state.stacks_made[stack.name] = dataclasses.replace(
                stack, action=action, status='IN_PROGRESS', reason=''
            )
        self._hurry()

    def _hurry(self) -> None:
        if self._state.heat_is_quick:
            self.finish()

    def finish(self, status: str = 'COMPLETE', reason: str = '') -> None:
        """Finish everything that Heat was asked for, or make it fail."""
        for name, stack in [*self._state.stacks_made.items()]:
            if (stack.action, status) == ('DELETE', 'COMPLETE'):
                del self._state.stacks_made[name]
            elif stack.status == 'IN_PROGRESS':
                self._state.stacks_made[name] = dataclasses.replace(
                    stack, status=status, reason=reason
                )


def _resources(
    template: Mapping[str, Any], parameters: Mapping[str, Any]
) -> Iterator[ports.StackResource]:
    for name, definition in template['resources'].items():
        properties = {
            key: _resolved(value, parameters)
            for key, value in (definition.get('properties') or {}).items()
        }
        if 'resource_def' not in properties:
            yield ports.StackResource(name, definition['type'], properties)
            continue
        within = properties['resource_def']
        for number in range(properties['count']):
            for each in _resources(
                {'resources': {str(number): within}}, parameters
            ):
                yield dataclasses.replace(each, parent=name)


def _resolved(value: Any, parameters: Mapping[str, Any]) -> Any:
    """Return a value; None: it is not known before the stack exists."""
    if not isinstance(value, dict) or len(value) != 1:
        return value
    [(function, argument)] = value.items()
    if function == 'get_param':
        return parameters[argument]
    return None if function.startswith('get_') else value


def _name(reservation_id: str) -> str:
    return f'reservation-{reservation_id}'
