# SPDX-License-Identifier: Apache-2.0
"""Existing clients work as they are: python-blazarclient, as a command and as
a library, python-chi, Heat's resources, and the requests of those that can't
be installed from the package index. openstacksdk, and what is built on it,
has leases by a line of clouds.yaml.

What each does is in a module of its name; Heat's is ``templates``.
"""

import datetime
from typing import Any

from blazarclient import client
from keystoneauth1 import session
from keystoneauth1.identity import v3

from sandbox import person
from sandbox import story
from sandbox.polls import until
from sandbox.stories import azimuth
from sandbox.stories import cast
from sandbox.stories import chameleon
from sandbox.stories import commands
from sandbox.stories import doni
from sandbox.stories import gophercloud
from sandbox.stories import neutron
from sandbox.stories import programs
from sandbox.stories import templates
from sandbox.story import expect

_NODE: dict[str, Any] = {
    'uid': 'node-1',
    'node_name': 'nc01',
    'node_type': 'small',
    'cpu_arch': 'x86_64',
    'su_factor': 1.0,
    'placement.node': '7',
    'placement.rack': 'r1',
}


def tell(auth_url: str, timeline: story.Timeline) -> None:
    """Lease with Blazar's clients, unmodified."""
    _command(auth_url, timeline)
    programs.tell(auth_url, timeline)
    _Addresses(auth_url, timeline).tell()
    node, other, *more = person.Operator(auth_url).hosts()
    doni.Chapter(auth_url, timeline).tell(node, _NODE)
    gophercloud.Chapter(auth_url, timeline).tell(other)
    cast.Cast(auth_url, timeline).enrol_all_of(more)
    azimuth.Chapter(auth_url, timeline).tell()
    chameleon.Chapter(auth_url, timeline).tell(auth_url, 'small')
    templates.Chapter(auth_url, timeline).tell(other)


def _command(auth_url: str, timeline: story.Timeline) -> None:
    step = timeline.step
    operator = person.Operator(auth_url)
    demo = person.Person(auth_url, 'demo')
    host = operator.hosts()[0]
    end = datetime.datetime.now(datetime.UTC) + datetime.timedelta(hours=1)
    lease = [
        *('reservation', 'lease', 'create', 'clients'),
        f'--end-date={end:%Y-%m-%d %H:%M}',
        '--reservation=resource_type=physical:host,min=1,max=1,'
        f'hypervisor_properties=["==", "$service_name", "{host}"]',
    ]
    with step('openstack reservation host create'):
        created = commands.shown_by(
            auth_url, 'admin', 'reservation', 'host', 'create', host
        )
        expect('name', host, created['service_name'])
    with step('openstack reservation lease create') as seen:
        lease_id = commands.shown_by(auth_url, 'demo', *lease)['id']
        until(
            'ACTIVE',
            lambda: demo.lease(lease_id)['status'],
            lambda status: status == 'ACTIVE',
        )
        seen('ACTIVE')
    with step('another for the same host tells why not') as seen:
        refused = commands.openstack(auth_url, 'alt', *lease)
        reason = 'ERROR: Not enough hosts available'
        if not refused.returncode or reason not in refused.stderr:
            raise person.Unexpected(reason, refused)
        seen(reason)
    with step('openstack reservation lease list'):
        leases = commands.shown_by(
            auth_url, 'demo', 'reservation', 'lease', 'list'
        )
        expect('leases', [lease_id], [each['id'] for each in leases])
    with step('openstack reservation lease set --prolong-for 1h'):
        before = demo.lease(lease_id)['end_date']
        commands.shown_by(
            *(auth_url, 'demo', 'reservation', 'lease', 'set', 'clients'),
            '--prolong-for=1h',
            shows=False,
        )
        expect('prolonged', _later(before), demo.lease(lease_id)['end_date'])
    with step('the library shows, renames and deletes it'):
        blazar = _library(auth_url, 'demo')
        expect('id', lease_id, blazar.lease.get(lease_id)['id'])
        renamed = blazar.lease.update(lease_id, name='renamed')
        expect('name', 'renamed', renamed['name'])
        blazar.lease.delete(lease_id)
        until('it is gone', blazar.lease.list, lambda leases: not leases)
    with step('openstack reservation host delete'):
        commands.shown_by(
            *(auth_url, 'admin', 'reservation', 'host', 'delete', host),
            shows=False,
        )
        expect('hosts', {}, operator.enrolled())


class _Addresses(neutron.Cast):
    """Blazar's commands of floating IPs."""

    resource_type = 'virtual:floatingip'

    def __init__(self, auth_url: str, timeline: story.Timeline) -> None:
        super().__init__(auth_url, timeline)
        self._auth_url = auth_url

    def tell(self) -> None:
        address = '203.0.113.201'
        network = self.external_network()
        with self.step('openstack reservation floatingip create') as seen:
            made = self._run('admin', 'floatingip', 'create', network, address)
            seen(made['floating_ip_address'])
        with self.step('openstack reservation floatingip list, show'):
            listed = self._run('demo', 'floatingip', 'list')
            known = {each['floating_ip_address']: each for each in listed}
            key = known[address]['id']
            shown = self._run('demo', 'floatingip', 'show', key)
            expect('address', address, shown['floating_ip_address'])
        with self.step('openstack reservation lease create of an address'):
            lease = self._run(
                *('demo', 'lease', 'create', 'an address'),
                '--reservation=resource_type=virtual:floatingip,'
                f'network_id={network},amount=1,'
                f'required_floatingips=["{address}"]',
            )['id']
            self.wait_for(lease, 'ACTIVE')
        with self.step('the address is in Neutron, as clients look for it'):
            (given,) = self.tagged('floatingips', self.part(lease)['id'])
            expect('address', address, given['floating_ip_address'])
        with self.step('one that is leased is not removed') as seen:
            refused = commands.openstack(
                *(self._auth_url, 'admin', 'reservation'),
                *('floatingip', 'delete', key),
            )
            if f'Resource {address}' not in refused.stderr:
                raise person.Unexpected('a refusal', refused)
            seen(refused.stderr.strip().splitlines()[-1])
        with self.step('openstack reservation lease, floatingip delete'):
            self._run('demo', 'lease', 'delete', lease, shows=False)
            self.wait_until_gone(lease)
            self._run('admin', 'floatingip', 'delete', key, shows=False)
            expect('addresses', [], self._run('demo', 'floatingip', 'list'))

    def _run(self, who: str, *words: str, shows: bool = True) -> Any:
        return commands.shown_by(
            self._auth_url, who, 'reservation', *words, shows=shows
        )


def _later(date: str) -> str:
    """Return the date an hour later, in the format of the API."""
    later = datetime.datetime.fromisoformat(date) + datetime.timedelta(hours=1)
    return later.strftime('%Y-%m-%dT%H:%M:%S.%f')


def _library(auth_url: str, name: str) -> Any:
    return client.Client(
        '1',
        session=session.Session(
            v3.Password(
                auth_url,
                username=name,
                password=name,
                user_domain_name='Default',
                project_name=name,
                project_domain_name='Default',
            )
        ),
    )
