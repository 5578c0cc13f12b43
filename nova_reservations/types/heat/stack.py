# SPDX-License-Identifier: Apache-2.0
"""Stacks of Heat: the resource type ``virtual:stack``."""

from collections import Counter
from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import datetime
import json
from typing import Any
from typing import ClassVar

from oslo_log import log

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.db.upkeep import records
from nova_reservations.objects import address as addresses
from nova_reservations.objects import pool as pools
from nova_reservations.objects import states
from nova_reservations.types import audited
from nova_reservations.types import base
from nova_reservations.types import checked
from nova_reservations.types import complex as complex_types
from nova_reservations.types import schemas
from nova_reservations.types.heat import stack_audit
from nova_reservations.types.heat import stack_parts
from nova_reservations.types.heat import stack_templates
from nova_reservations.types.heat import token_checks
from nova_reservations.types.servers import end_actions

LOG = log.getLogger(__name__)

DELETE = 'delete'
SUSPEND = 'suspend'
KEEP = 'keep'

END_ACTIONS = {
    DELETE: end_actions.DELETE,
    SUSPEND: end_actions.SHELVE,
    KEEP: end_actions.MIGRATE,
}
"""End action of a stack -> end action of the reservations of its servers."""

_PROPERTIES = {
    'template': {
        'type': 'string',
        'minLength': 1,
        'maxLength': 1 << 16,
        'description': 'the text of a template of Heat, without other files',
    },
    'parameters': {
        'type': 'object',
        'maxProperties': 100,
        'description': 'of the template, by name; they are kept with the '
        'lease: no place for secrets',
    },
    'end_action': {'enum': [*END_ACTIONS, None]},
}

_SHOWN = ('template', 'parameters', 'end_action')


class Stack(complex_types.Complex, audited.Audited, checked.Checked):
    """A stack that Heat creates when its lease starts.

    The lease reserves slots of the flavors of its servers, in which the
    servers land without a hint. The volumes and addresses of the stack, if
    these types are leased in this cloud, are created by the lease, and Heat
    adopts them. Requests to Heat are scoped to the project of the lease.

    Decision 0058: doc/source/decisions/0058-stacks
    """

    check_name = 'Stacks'
    nouns = 'stack', 'stacks'
    schema = schemas.closed(_PROPERTIES, 'template')
    update_schema: ClassVar[Mapping[str, Any]] = {
        **schemas.closed(_PROPERTIES),
        'dependentRequired': {'parameters': ['template']},
    }

    def look_up_all(
        self, asked: Sequence[Mapping[str, Any]], project_id: str
    ) -> list[Mapping[str, Any]]:
        """Ask Heat for previews of the stacks.

        :raises: InvalidInput, CloudUnavailable
        """
        templates = {
            place: stack_templates.read(each['template'])
            for place, each in enumerate(asked)
            if 'template' in each
        }
        if not templates:
            return [*asked]
        why_not = token_checks.why_not(self.cloud.stacks, project_id)
        if why_not is not None:
            raise exception.InvalidInput(
                f'Stacks can not be made in this project: {why_not}; ask the '
                'operator'
            )
        answer: list[Mapping[str, Any]] = [
            {'parameters': {}, **each} if 'template' in each else {**each}
            for each in asked
        ]
        try:
            previews = self.cloud.stacks.preview(
                [
                    _template(template, answer[place]['parameters'])
                    for place, template in templates.items()
                ],
                project_id,
            )
        except exception.CloudRefused as error:
            raise exception.InvalidInput(str(error)) from error
        for (place, template), found in zip(
            templates.items(), previews, strict=True
        ):
            answer[place] = {
                **answer[place],
                **self._made(template, found, project_id),
            }
        return answer

    def _made(
        self,
        template: Mapping[str, Any],
        preview: Collection[ports.StackResource],
        project_id: str,
    ) -> dict[str, Any]:
        """Return the flavors, volumes and addresses that a template needs.

        :raises: InvalidInput
        """
        there = stack_templates.created(template)
        # Heat previews resources with an external_id, but does not create
        # them.
        found = [
            each
            for each in preview
            if each.parent is not None or each.name in there
        ]
        switched_on = self.conf.reservations.resource_types
        stack_parts.check(found, switched_on)
        return {
            'flavors': self._flavors(found, project_id),
            'volumes': stack_parts.volumes(template, found)
            if pools.VOLUME in switched_on
            else [],
            'floating_ips': stack_parts.floating_ips(template, found)
            if addresses.FLOATING_IP in switched_on
            else [],
        }

    def _flavors(
        self, found: Collection[ports.StackResource], project_id: str
    ) -> dict[str, int]:
        """Return flavor id -> the number of servers of that flavor.

        :raises: InvalidInput
        """
        counts: Counter[str] = Counter()
        for flavor, count in stack_parts.flavors(found).items():
            try:
                known = self.cloud.slots.find_flavor(flavor, project_id)
            except exception.CloudRefused as error:
                raise exception.InvalidInput(str(error)) from error
            counts[known.id] += count
        return dict(counts)

    def setup_failures(self) -> Iterator[str]:
        switched_on = self.conf.reservations.resource_types
        if stack_parts.SLOTS in switched_on:
            return token_checks.failures(self.cloud.stacks)
        return iter(
            (
                f'[reservations] resource_types has {stack_audit.STACK} and '
                f'lacks {stack_parts.SLOTS}, of which the servers of stacks '
                'are: add it.',
            )
        )

    def setup_warnings(self) -> Iterator[str]:
        return token_checks.warnings(self.cloud.stacks)

    def audit(self, known: records.Records) -> Iterator[audited.Finding]:
        return stack_audit.StackAudit(
            self.cloud.stacks,
            known,
            lambda item: bool(item.params['end_action'] != DELETE),
        ).findings()

    def validate(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        offered = [
            action
            for action, of_servers in END_ACTIONS.items()
            if of_servers in self.conf.reservations.allowed_end_actions
        ]
        end_action = asked.get('end_action') or offered[0]
        if end_action not in offered:
            raise exception.InvalidInput(
                f'end_action {end_action} is not offered here; choose one of: '
                f'{", ".join(offered)}'
            )
        if asked['volumes'] and end_action != DELETE:
            raise exception.InvalidInput(
                f'end_action {end_action} is not possible for a stack with '
                f'{asked["volumes"][0]["name"]}, a volume of the lease: while '
                'a server has it attached, it can not leave its pool'
            )
        return {
            'template': asked['template'],
            'parameters': dict(asked['parameters']),
            'end_action': end_action,
            'flavors': dict(asked['flavors']),
            'volumes': list(asked['volumes']),
            'floating_ips': list(asked['floating_ips']),
        }

    def expand(
        self, params: Mapping[str, Any], project_id: str
    ) -> list[complex_types.Part]:
        return [
            *stack_parts.of_servers(
                params['flavors'], END_ACTIONS[params['end_action']]
            ),
            *stack_parts.of_volumes(params['volumes']),
            *stack_parts.of_floating_ips(params['floating_ips']),
        ]

    def check_active_change(
        self, reservation: objects.Reservation, params: Mapping[str, Any]
    ) -> None:
        for name in 'template', 'parameters':
            if params[name] != reservation.params[name]:
                raise base.refused_change(
                    reservation,
                    'its stack is there: only end_action can be changed',
                )

    def start(self, booking: base.Booking) -> base.Waiting | None:
        """Have Heat create the stack, and wait until it is complete."""
        found = self._find(booking)
        if found is None:
            self._create(booking)
            return base.Waiting('Heat is asked for its stack')
        if found.action == 'DELETE' or found.status == 'FAILED':
            raise exception.CloudRefused(
                what='The stack',
                reason=found.reason or f'it is {found.state} in Heat',
            )
        if found.status != 'COMPLETE':
            return base.Waiting('Heat makes its stack')
        return None

    def _create(self, booking: base.Booking) -> None:
        """:raises: CloudRefused, CloudUnavailable"""
        params = booking.reservation.params
        # The roles may have changed since the lease was requested.
        token_checks.check(self.cloud.stacks, booking.lease.project_id)
        try:
            template = stack_templates.read(params['template'])
        except exception.InvalidInput as error:
            # This release may refuse what an earlier one has accepted.
            raise exception.CloudRefused(
                what='The stack', reason=error
            ) from error
        made = self._volumes(booking) | self._floating_ips(booking)
        self.cloud.stacks.create(
            _template(
                stack_templates.adopt(template, made), params['parameters']
            ),
            booking.lease.project_id,
            ports.Mark(booking.reservation.id, booking.database),
            booking.check,
        )

    def _volumes(self, booking: base.Booking) -> dict[str, str]:
        """Return name of a resource in the template -> ID of its volume.

        :raises: CloudRefused if one is gone
        """
        wanted = stack_parts.alike_volumes(
            booking.reservation.params['volumes']
        )
        if not wanted:
            return {}
        volumes = self.cloud.volumes.find_volumes(booking.lease.project_id)
        return _matched(
            wanted,
            {
                name: [
                    volume.id
                    for volume in volumes
                    if volume.is_of(
                        booking.parts[name].reservation.id,
                        *booking.parts[name].resources,
                    )
                ]
                for name in wanted
            },
        )

    def _floating_ips(self, booking: base.Booking) -> dict[str, str]:
        """Return name of a resource in the template -> ID of its floating IP.

        :raises: CloudRefused if one is gone
        """
        wanted = stack_parts.alike_floating_ips(
            booking.reservation.params['floating_ips']
        )
        return _matched(
            wanted,
            {
                name: [
                    floating_ip.id
                    for floating_ip in self.cloud.networks.find_floating_ips(
                        alike[0]['network_id'],
                        [
                            addresses.parse(each.name)[0]
                            for each in booking.parts[name].resources
                        ],
                    ).values()
                ]
                for name, alike in wanted.items()
            },
        )

    def update(self, booking: base.Booking) -> None:
        """Do nothing: while the lease is active, the stack is its owner's to
        change in Heat."""

    def end(self, booking: base.Booking) -> base.Waiting | None:
        """Have Heat delete the stack, or suspend it.

        A stack of a failed start is deleted. If Heat refuses, or is not done
        in time, the stack is left as it is: the parts end their servers,
        volumes and addresses themselves.
        """
        action = booking.reservation.params['end_action']
        if booking.reservation.status != states.Reservation.ACTIVE:
            action = DELETE
        timeout = self.conf.reservations.end_timeout
        late = booking.ending >= datetime.timedelta(seconds=timeout / 2)
        try:
            waiting = self._end(action, booking)
        except exception.CloudRefused as error:
            why: object = error
        except exception.CloudUnavailable as error:
            if not late:
                raise
            why = error
        else:
            if waiting is None or not late:
                return waiting
            why = waiting.reason
        # Others are promised the resources, so the end can not wait for Heat.
        LOG.warning(
            'The stack of reservation %(id)s is left as it is, and an audit '
            'tells of it: %(reason)s',
            {'id': booking.reservation.id, 'reason': why},
        )
        return None

    def _end(self, action: str, booking: base.Booking) -> base.Waiting | None:
        if action == KEEP:
            return None
        found = self._find(booking)
        if found is None:
            return None
        if (found.action, found.status) == ('DELETE', 'IN_PROGRESS'):
            return base.Waiting('Heat deletes its stack')
        # The owner may have updated the stack with resources of any type, on
        # which Heat would act with our token.
        token_checks.check(self.cloud.stacks, booking.lease.project_id)
        act = _suspend if action == SUSPEND else _delete
        return act(self.cloud.stacks, found, booking.check)

    def usage(
        self,
        lease: objects.Lease,
        reservation: objects.Reservation,
        resources: Collection[objects.Resource],
        servers: Collection[str],
    ) -> Mapping[str, Any]:
        found = self.cloud.stacks.find(reservation.id, lease.project_id)
        if found is None:
            return {'stack': None}
        return {
            'stack': {
                'id': found.id,
                'name': found.name,
                'status': found.state,
            }
        }

    def show(self, reservation: objects.Reservation) -> Mapping[str, Any]:
        return {name: reservation.params[name] for name in _SHOWN}

    def _find(self, booking: base.Booking) -> ports.Stack | None:
        return self.cloud.stacks.find(
            booking.reservation.id, booking.lease.project_id
        )


def _template(
    template: Mapping[str, Any], parameters: Mapping[str, Any]
) -> ports.Template:
    return ports.Template(json.dumps(template, ensure_ascii=False), parameters)


def _matched(
    wanted: Mapping[str, stack_parts.Sizes],
    there: Mapping[str, Collection[str]],
) -> dict[str, str]:
    """Return name of a resource in the template -> ID of the existing object.

    :raises: CloudRefused if there are too few
    """
    found: dict[str, str] = {}
    for part, alike in wanted.items():
        if len(there[part]) < len(alike):
            raise exception.CloudRefused(
                what='The stack', reason=f'one of its {part} is gone'
            )
        names = (each['name'] for each in alike)
        found |= dict(zip(names, sorted(there[part]), strict=False))
    return found


def _delete(
    stacks: ports.Stacks, found: ports.Stack, check: ports.Check
) -> base.Waiting:
    stacks.delete(found, check)
    if found.action == 'DELETE':
        return base.Waiting(
            f'Heat could not delete its stack, and is asked again: '
            f'{found.reason}'
        )
    return base.Waiting('Heat is asked to delete its stack')


def _suspend(
    stacks: ports.Stacks, found: ports.Stack, check: ports.Check
) -> base.Waiting | None:
    if found.action == 'DELETE':
        # The owner has had it deleted, which has failed: a DELETE in progress
        # is waited for by the caller.
        return None
    if found.action != 'SUSPEND':
        stacks.suspend(found, check)
        return base.Waiting('Heat is asked to suspend its stack')
    if found.status == 'IN_PROGRESS':
        return base.Waiting('Heat suspends its stack')
    return None
