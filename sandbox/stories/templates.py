# SPDX-License-Identifier: Apache-2.0
"""Heat's own resources of Blazar, ``OS::Blazar::Host`` and
``OS::Blazar::Lease``, in templates."""

import importlib.metadata
from typing import Any

from sandbox import cloud
from sandbox import person
from sandbox.person import body
from sandbox.polls import until
from sandbox.stories import cast
from sandbox.story import expect

_FORMAT = '%Y-%m-%d %H:%M'


class Chapter(cast.Cast):
    """A stack of an operator with a host, and one of a member."""

    def tell(self, host: str) -> None:
        """Lease the host, which a template enrols, and a slot elsewhere."""
        heat = importlib.metadata.version('openstack-heat')
        with self.step(f'heat {heat}: a stack with a host') as seen:
            enrolled = self._create(self.operator, 'host', _host(host))
            seen(enrolled['stack_status'])
            known = self.operator.enrolled().values()
            expect('enrolled', True, host in known)
        with self.step('and, as member, one with a lease and servers') as seen:
            leased = self._create(self.demo, 'lease', _leased())
            seen(leased['stack_status'])
        with self.step('one is on the host, one has the flavor') as seen:
            self._look(host, leased)
            seen(host)
        with self.step('deleted, they leave nothing behind'):
            self._delete(self.demo, leased)
            until(
                'no lease',
                lambda: body(self.demo.reservation.get('/leases'))['leases'],
                lambda left: not left,
            )
            self._delete(self.operator, enrolled)
            known = self.operator.enrolled().values()
            expect('enrolled', False, host in known)

    def _look(self, host: str, stack: Any) -> None:
        found = body(self.demo.orchestration.get(f'{_path(stack)}/resources'))
        made = {
            each['resource_name']: each['physical_resource_id']
            for each in found['resources']
        }
        self.expect_on(made['of_hint'], [host])
        slots = self.operator.lease(made['lease'])['reservations'][1]
        self.expect_on(
            made['of_flavor'], {*self.operator.enrolled().values()} - {host}
        )
        expect('server', [made['of_flavor']], slots['servers'])

    def _create(
        self, who: person.Person, name: str, resources: dict[str, Any]
    ) -> Any:
        """Create a stack; wait until it is complete, and return it."""
        template = {
            'heat_template_version': '2021-04-16',
            'resources': resources,
        }
        answer = who.orchestration.post(
            '/stacks', json={'stack_name': name, 'template': template}
        )
        made = body(answer, 201)['stack']['id']
        path = _path({'stack_name': name, 'id': made})
        return self._settled(who, path, 'CREATE_COMPLETE')

    def _delete(self, who: person.Person, stack: Any) -> None:
        body(who.orchestration.delete(_path(stack)), 204)
        self._settled(who, _path(stack), 'DELETE_COMPLETE')

    def _settled(self, who: person.Person, path: str, status: str) -> Any:
        """Wait until Heat is done with a stack, which it still shows by its
        id when it is deleted."""
        stack = until(
            status,
            lambda: body(who.orchestration.get(path))['stack'],
            lambda seen: not seen['stack_status'].endswith('IN_PROGRESS'),
            60,
        )
        if stack['stack_status'] != status:
            raise person.Unexpected(status, stack['stack_status_reason'])
        return stack


def _host(name: str) -> dict[str, Any]:
    return {
        'host': {
            'type': 'OS::Blazar::Host',
            'properties': {'name': name, 'extra_capability': {'heat': 'hot'}},
        }
    }


def _leased() -> dict[str, Any]:
    """Return the resources of a lease that begins in this minute, which
    is as near to now as Heat can say, and of its servers."""
    lease = {
        'type': 'OS::Blazar::Lease',
        'properties': {
            'name': 'of Heat',
            'start_date': cast.now().strftime(_FORMAT),
            'end_date': (cast.now() + cast.hours(2)).strftime(_FORMAT),
            'reservations': [
                {
                    'resource_type': 'physical:host',
                    'min': 1,
                    'max': 1,
                    'hypervisor_properties': '',
                    'resource_properties': '["==", "$heat", "hot"]',
                },
                {
                    'resource_type': 'virtual:instance',
                    'amount': 1,
                    'vcpus': 1,
                    'memory_mb': 64,
                    'disk_gb': 1,
                    'resource_properties': '',
                },
            ],
        },
    }
    return {
        'lease': lease,
        'of_hint': _server(
            flavor=cloud.FLAVOR,
            scheduler_hints={'reservation': _of_lease(0, 'id')},
        ),
        'of_flavor': _server(flavor=_of_lease(1, 'flavor_id')),
    }


def _server(**properties: Any) -> dict[str, Any]:
    return {
        'type': 'OS::Nova::Server',
        'properties': {
            'image': cloud.IMAGE,
            'networks': [{'allocate_network': 'none'}],
            # The default needs Heat's CloudFormation API, which is not
            # here.
            'user_data_format': 'RAW',
            **properties,
        },
    }


def _of_lease(index: int, key: str) -> dict[str, Any]:
    return {'get_attr': ['lease', 'reservations', index, key]}


def _path(stack: Any) -> str:
    return f'/stacks/{stack["stack_name"]}/{stack["id"]}'
