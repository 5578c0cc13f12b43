# SPDX-License-Identifier: Apache-2.0
"""Stacks are leased, on a real Heat, Neutron and Cinder."""

import datetime
import json
from typing import Any

import requests

from sandbox import person
from sandbox import story
from sandbox.person import body
from sandbox.polls import until
from sandbox.stories import cast
from sandbox.stories import commands
from sandbox.stories import neutron
from sandbox.story import expect

_ADDRESS = '203.0.113.101'
_POOL = 'storage@files#fast'
_MISTRAL = {'type': 'workflowv2', 'name': 'mistral'}
_ENDPOINT = {'interface': 'public', 'url': 'http://127.0.0.1:9/v2'}

Resources = dict[str, dict[str, Any]]


def tell(auth_url: str, timeline: story.Timeline) -> None:
    """Lease stacks of servers: from the template to clean-up."""
    told = _Stacks(auth_url, timeline)
    told.enrol()
    told.refuse()
    told.trust_no_administrator()
    told.trust_no_workflow()
    lease = told.lease()
    told.use(lease)
    told.change()
    told.end(lease)
    told.suspend()
    told.keep()
    told.fail_as_a_whole()
    told.wait_for_heat()
    told.repair()


def _server(flavor: str = 'small', **properties: Any) -> dict[str, Any]:
    return {
        'type': 'OS::Nova::Server',
        'properties': {
            'image': {'get_param': 'image'},
            'flavor': {'get_param': flavor},
            'networks': [{'allocate_network': 'none'}],
            # The default needs Heat's CloudFormation API, which is not here.
            'user_data_format': 'RAW',
            **properties,
        },
    }


class _Stacks(neutron.Cast):
    """The chapters, in the order in which they are told.

    :ivar network: the external network's id.
    """

    resource_type = 'virtual:stack'

    def __init__(self, auth_url: str, timeline: story.Timeline) -> None:
        super().__init__(auth_url, timeline)
        self.etc = timeline.directory / 'etc'
        self.network = ''
        # Read before there are other flavors.
        self.small = self.demo.ingredients['flavorRef']

    def enrol(self) -> None:
        # The last host is for servers that are kept after their lease.
        self.enrol_all_of(self.operator.hosts()[:-1])
        with self.step('there are a flavor, addresses and a pool'):
            flavor = {'name': 'large', 'vcpus': 2, 'ram': 256, 'disk': 1}
            body(
                self.operator.compute.post('/flavors', json={'flavor': flavor})
            )
            self.network = self.create(
                self.operator,
                'network',
                name='public',
                **{
                    'router:external': True,
                    'provider:network_type': 'flat',
                    'provider:physical_network': 'public',
                },
            )
            self.create(
                self.operator,
                'subnet',
                network_id=self.network,
                ip_version=4,
                cidr='203.0.113.0/24',
                enable_dhcp=False,
                allocation_pools=[
                    {'start': '203.0.113.10', 'end': '203.0.113.99'}
                ],
            )
            self._add_address()
            self._add_pool()

    def refuse(self) -> None:
        with self.step('a key of ours is in no stack') as seen:
            key = {'type': 'OS::Nova::KeyPair', 'properties': {'name': 'x'}}
            seen(cast.refusal(self._ask({'key': key}), 400))
            keyed = {'one': _server(key_name='x')}
            seen(cast.refusal(self._ask(keyed), 400))
        with self.step('nor is a template from elsewhere') as seen:
            elsewhere = {'one': {'type': 'http://127.0.0.1/template.yaml'}}
            seen(cast.refusal(self._ask(elsewhere), 400))
        with self.step('what Heat refuses is told in its words') as seen:
            unknown = {'one': _server(image='no such image')}
            seen(cast.refusal(self._ask(unknown), 400))

    def trust_no_administrator(self) -> None:
        user = self._one('users', 'nova')
        role = self._one('roles', 'admin')
        path = f'/projects/{self.project}/users/{user}/roles/{role}'
        with self.step(
            'where we are an administrator nothing is made'
        ) as seen:
            body(self.operator.identity.put(path), 204)
            answer = self._ask({'one': _server()}, dry_run=True)
            seen(cast.refusal(answer, 400))
            body(self.operator.identity.delete(path), 204)

    def trust_no_workflow(self) -> None:
        identity = self.operator.identity
        with self.step('where there is Mistral nothing is made') as seen:
            service = body(
                identity.post('/services', json={'service': _MISTRAL}), 201
            )['service']['id']
            its = _ENDPOINT | {'service_id': service}
            body(identity.post('/endpoints', json={'endpoint': its}), 201)
            answer = self._ask({'one': _server()}, dry_run=True)
            seen(cast.refusal(answer, 400))
            body(identity.delete(f'/services/{service}'), 204)

    def lease(self) -> str:
        resources: Resources = {
            'net': {'type': 'OS::Neutron::Net'},
            'subnet': {
                'type': 'OS::Neutron::Subnet',
                'properties': {
                    'network': {'get_resource': 'net'},
                    'cidr': '192.0.2.0/24',
                },
            },
            'router': {
                'type': 'OS::Neutron::Router',
                'properties': {
                    'external_gateway_info': {'network': self.network}
                },
            },
            'leg': {
                'type': 'OS::Neutron::RouterInterface',
                'properties': {
                    'router': {'get_resource': 'router'},
                    'subnet': {'get_resource': 'subnet'},
                },
            },
            'port': {
                'type': 'OS::Neutron::Port',
                'depends_on': ['subnet'],
                'properties': {'network': {'get_resource': 'net'}},
            },
            'address': {
                'type': 'OS::Neutron::FloatingIP',
                'properties': {
                    'floating_network': {'get_param': 'network'},
                    'port_id': {'get_resource': 'port'},
                },
            },
            'disk': {
                'type': 'OS::Cinder::Volume',
                'properties': {'size': {'get_param': 'size'}},
            },
            'attachment': {
                'type': 'OS::Cinder::VolumeAttachment',
                'properties': {
                    'instance_uuid': {'get_resource': 'one'},
                    'volume_id': {'get_resource': 'disk'},
                },
            },
            # The flavor by its name, which Heat resolves.
            'one': _server(
                'large', networks=[{'port': {'get_resource': 'port'}}]
            ),
            'two': {
                'type': 'OS::Heat::ResourceGroup',
                'properties': {'count': 2, 'resource_def': _server()},
            },
        }
        with self.step('demo leases servers, a volume, an address') as seen:
            lease = self._lease(resources)
            seen(self.wait_for(lease, 'ACTIVE', 240))
            expect('parts', [1, 1, 1, 2], sorted(self._parts(lease).values()))
        with self.step('the lease shows the stack') as seen:
            shown = self._shown(lease)
            expect('status', 'CREATE_COMPLETE', shown['status'])
            seen(shown['name'])
        return lease

    def use(self, lease: str) -> None:
        with self.step('each server is in a slot of its flavor') as seen:
            there = {
                part['flavor']['name']: part['servers']
                for part in self._slots(lease)
            }
            expect('number', 1, len(there.pop('large')))
            ((_, others),) = there.items()
            expect('number', 2, len(others))
            seen(', '.join(others))
        with self.step('the address of the lease leads to its port') as seen:
            (address,) = body(self.demo.network.get('/v2.0/floatingips'))[
                'floatingips'
            ]
            expect('address', _ADDRESS, address['floating_ip_address'])
            port = self._made('port')
            expect('port', port, address['port_id'])
            expect('id', address['id'], self._made('address'))
            seen(f'{_ADDRESS} -> {address["fixed_ip_address"]}')
        with self.step('the volume of the lease is the only one') as seen:
            (volume,) = self._volumes()
            expect('id', volume['id'], self._made('disk'))
            (attached,) = volume['attachments']
            expect('server', self._made('one'), attached['server_id'])
            seen(volume['volume_type'])

    def change(self) -> None:
        with self.step('demo changes the stack, which it has then') as seen:
            (stack,) = self._stacks()
            resources = body(
                self.demo.orchestration.get(f'{_path(stack)}/template')
            )
            named = {'value': 'more'}
            resources['outputs'] = {'more': named}
            changed = {'template': resources, 'parameters': self._parameters}
            answer = self.demo.orchestration.put(_path(stack), json=changed)
            # The body of this answer is not JSON.
            expect('status', 202, answer.status_code)
            (stack,) = until(
                'changed',
                self._stacks,
                lambda found: found[0]['stack_status'] == 'UPDATE_COMPLETE',
                60,
            )
            seen(f'{stack["stack_status"]}, tags {stack["tags"]}')
            told = commands.audit(self.etc)
            if 'Heat' in told:
                raise person.Unexpected('nothing of Heat', told)

    def end(self, lease: str) -> None:
        with self.step('at the end it is deleted, and all of it') as seen:
            self.end_now(lease)
            seen(self.wait_for(lease, 'TERMINATED', 240))
            expect('servers', [], self._servers())
            expect('volumes', [], self._volumes())
            expect('stacks', [], self._stacks())
            left = body(self.demo.network.get('/v2.0/floatingips'))
            expect('addresses', [], left['floatingips'])

    def suspend(self) -> None:
        with self.step('another is suspended, off the hosts') as seen:
            lease = self._lease({'one': _server()}, end_action='suspend')
            self.wait_for(lease, 'ACTIVE', 120)
            self.end_now(lease)
            seen(self.wait_for(lease, 'TERMINATED', 240))
            (stack,) = self._stacks()
            expect('stack', 'SUSPEND_COMPLETE', stack['stack_status'])
            (server,) = self._servers()
            seen(f'{stack["stack_status"]}, {server["status"]}')
            expect('server', 'SHELVED_OFFLOADED', server['status'])
        with self.step('its owner has it again') as seen:
            body(
                self.demo.compute.post(
                    f'/servers/{server["id"]}/action', json={'unshelve': None}
                ),
                202,
            )
            until(
                'a server that runs',
                lambda: self.demo.server(server['id'])['status'],
                lambda status: status == 'ACTIVE',
                60,
            )
            self.demo.orchestration.post(
                f'{_path(stack)}/actions', json={'resume': None}
            )
            (stack,) = until(
                'resumed',
                self._stacks,
                lambda found: found[0]['stack_status'] == 'RESUME_COMPLETE',
                60,
            )
            seen(stack['stack_status'])
            self._delete(stack)

    def keep(self) -> None:
        with self.step('another is kept, and its server moves') as seen:
            lease = self._lease({'one': _server()}, end_action='keep')
            self.wait_for(lease, 'ACTIVE', 120)
            self.end_now(lease)
            seen(self.wait_for(lease, 'TERMINATED', 240))
            (stack,) = self._stacks()
            expect('stack', 'CREATE_COMPLETE', stack['stack_status'])
            (server,) = self._servers()
            seen(server['status'])
            self._delete(stack)

    def fail_as_a_whole(self) -> None:
        with self.step('a stack that fails is undone as a whole') as seen:
            broken = {
                'type': 'OS::Neutron::Port',
                'properties': {
                    'network': {'get_resource': 'net'},
                    'fixed_ips': [{'ip_address': '198.51.100.7'}],
                },
            }
            lease = self._lease(
                {
                    'one': _server(),
                    'net': {'type': 'OS::Neutron::Net'},
                    'port': broken,
                }
            )
            self.wait_for(lease, 'ERROR', 120)
            seen(str(self.demo.lease(lease)['status_reason']))
            until('no server', self._servers, lambda there: not there, 60)
            until('no stack', self._stacks, lambda there: not there, 60)

    def wait_for_heat(self) -> None:
        with self.step('while Heat is gone a start waits') as seen:
            lease = self._lease({'one': _server()}, later=True)
            self.services.kill('orchestration')
            start = {'start_date': 'now'}
            body(self.demo.reservation.put(f'/leases/{lease}', json=start))
            reason = until(
                'a reason',
                lambda: self.operator.lease(lease)['status_reason'],
                bool,
            )
            seen(reason)
        with self.step('it is there again') as seen:
            self.services.restart('orchestration')
            seen(self.wait_for(lease, 'ACTIVE', 120))

    def repair(self) -> None:
        with self.step('demo deletes the stack, and an audit says so') as seen:
            (stack,) = self._stacks()
            self._delete(stack)
            found = commands.audit(self.etc)
            if 'is gone from Heat' not in found:
                raise person.Unexpected('gone from Heat', found)
            seen(found.strip())
        with self.step('nova-reservations-status knows of Heat') as seen:
            told = commands.upgrade_check(self.etc)
            if 'Stacks' not in told:
                raise person.Unexpected('Stacks', told)

    def _add_address(self) -> None:
        body(
            self.operator.reservation.post(
                '/floatingips',
                json={
                    'floating_network_id': self.network,
                    'floating_ip_address': _ADDRESS,
                },
            ),
            201,
        )

    def _add_pool(self) -> None:
        until(
            'a pool',
            lambda: body(
                self.operator.volume.get('/scheduler-stats/get_pools')
            )['pools'],
            lambda seen: any(each['name'] == _POOL for each in seen),
        )
        (default,) = (
            each
            for each in body(self.operator.volume.get('/types'))[
                'volume_types'
            ]
            if each['name'] == '__DEFAULT__'
        )
        body(
            self.operator.volume.post(
                f'/types/{default["id"]}/extra_specs',
                json={'extra_specs': {'pool_name': 'open'}},
            )
        )
        wanted = {'resource_type': 'virtual:volume', 'name': _POOL}
        body(self.operator.reservation.post('/resources', json=wanted), 201)

    @property
    def _parameters(self) -> dict[str, Any]:
        return {
            'image': self.demo.ingredients['imageRef'],
            'small': self.small,
            'large': 'large',
            'network': self.network,
            'size': 10,
        }

    def _ask(
        self,
        resources: Resources,
        later: bool = False,
        dry_run: bool = False,
        **more: Any,
    ) -> requests.Response:
        """Ask for a stack, from now on or in an hour."""
        kinds = {'size': 'number'}
        parameters = self._parameters
        template = {
            'heat_template_version': '2018-08-31',
            'parameters': {
                name: {'type': kinds.get(name, 'string')}
                for name in parameters
            },
            'resources': resources,
        }
        start = cast.now() + cast.hours(1) if later else None
        end: datetime.datetime = cast.now() + cast.hours(2)
        return self.demo.reservation.post(
            '/leases' + '?dry_run=true' * dry_run,
            json={
                'name': 'stack',
                'start_date': start.isoformat() if start else 'now',
                'end_date': end.isoformat(),
                'reservations': [
                    {
                        'resource_type': self.resource_type,
                        'template': json.dumps(template),
                        'parameters': parameters,
                        **more,
                    }
                ],
            },
        )

    def _lease(self, resources: Resources, **more: Any) -> str:
        return str(body(self._ask(resources, **more), 201)['lease']['id'])

    def _parts(self, lease: str) -> dict[str, int]:
        """Return name of a part -> its amount."""
        return {
            each['part_name']: each['amount']
            for each in self.demo.lease(lease)['reservations']
            if each.get('part_of')
        }

    def _slots(self, lease: str) -> list[Any]:
        """Return the parts that are slots, with their flavors' names."""
        return [
            {
                **each,
                'flavor': json.loads(each['resource_properties']),
            }
            for each in self.operator.lease(lease)['reservations']
            if each['resource_type'] == 'flavor:instance'
        ]

    def _shown(self, lease: str) -> Any:
        return self.part(lease)['stack']

    def _made(self, resource: str) -> str:
        """Return the ID of the object of a resource in the only stack."""
        (stack,) = self._stacks()
        found = body(
            self.demo.orchestration.get(f'{_path(stack)}/resources/{resource}')
        )
        return str(found['resource']['physical_resource_id'])

    def _delete(self, stack: Any) -> None:
        body(self.demo.orchestration.delete(_path(stack)), 204)
        until('no stack', self._stacks, lambda there: not there, 60)

    def _stacks(self) -> list[Any]:
        return list(body(self.demo.orchestration.get('/stacks'))['stacks'])

    def _servers(self) -> list[Any]:
        return list(body(self.demo.compute.get('/servers/detail'))['servers'])

    def _volumes(self) -> list[Any]:
        return list(body(self.demo.volume.get('/volumes/detail'))['volumes'])

    def _one(self, noun: str, name: str) -> str:
        found = body(self.operator.identity.get(f'/{noun}?name={name}'))
        return str(found[noun][0]['id'])


def _path(stack: Any) -> str:
    return f'/stacks/{stack["stack_name"]}/{stack["id"]}'
