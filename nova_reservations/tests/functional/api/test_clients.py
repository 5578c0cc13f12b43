# SPDX-License-Identifier: Apache-2.0
"""python-blazarclient as it is, against the API over HTTP."""

import io
import json
import types

from blazarclient import client
from blazarclient import exception
from blazarclient.v1.shell_commands import hosts as shell_hosts
from keystoneauth1 import session
from keystoneauth1 import token_endpoint
import pytest

from nova_reservations import ports
from nova_reservations.types.servers import flavor
from nova_reservations.types.servers import instance

HOST = {
    'resource_type': 'physical:host',
    'min': 1,
    'max': 1,
    'hypervisor_properties': '',
    'resource_properties': '',
}


@pytest.fixture
def blazar(serve):
    def build(person):
        plugin = token_endpoint.Token(serve(person), 'token')
        return client.Client('1', session=session.Session(auth=plugin))

    return build


def ask(client, **changes):
    return client.lease.create(
        **{
            'name': 'mine',
            'start': '2040-01-01 10:00',
            'end': '2040-01-01 12:00',
            'reservations': [HOST],
            'events': [],
        }
        | changes
    )


@pytest.fixture
def ours(blazar, member, enrolled):
    return blazar(member)


def test_the_library_creates_lists_shows_and_deletes_leases(ours):
    lease = ask(ours, before_end='2040-01-01 11:00')
    assert ours.lease.list(sort_by='name') == [lease]
    assert ours.lease.get(lease['id']) == lease
    ours.lease.delete(lease['id'])
    assert ours.lease.list() == []


@pytest.mark.parametrize(
    ('changes', 'start', 'end'),
    [
        ({'prolong_for': '1d'}, '01T10:00', '02T12:00'),
        ({'reduce_by': '30m'}, '01T10:00', '01T11:30'),
        ({'defer_by': '1h'}, '01T11:00', '01T12:00'),
        ({'advance_by': '3600s'}, '01T09:00', '01T12:00'),
        (
            {'advance_by': '1h', 'prolong_for': '1h'},
            '01T09:00',
            '01T13:00',
        ),
        (
            {
                'start_date': '2040-01-01 10:30',
                'end_date': '2040-01-01 11:30',
            },
            '01T10:30',
            '01T11:30',
        ),
    ],
)
def test_the_library_moves_the_dates_of_a_lease(ours, changes, start, end):
    lease = ours.lease.update(ask(ours)['id'], **changes)
    assert lease['start_date'] == f'2040-01-{start}:00.000000'
    assert lease['end_date'] == f'2040-01-{end}:00.000000'


def test_the_library_moves_the_end_of_an_active_lease(ours, workers):
    lease = ask(ours, start='now', end='2030-05-17 12:00')
    workers.work()
    lease = ours.lease.update(lease['id'], prolong_for='90m')
    assert lease['end_date'] == '2030-05-17T13:30:00.000000'
    assert lease['status'] == 'ACTIVE'
    lease = ours.lease.update(lease['id'], reduce_by='2h')
    assert lease['end_date'] == '2030-05-17T11:30:00.000000'


def test_the_library_changes_name_and_reservations(ours):
    lease = ask(ours)
    [reservation] = lease['reservations']
    lease = ours.lease.update(
        lease['id'],
        name='renamed',
        reservations=[{'id': reservation['id'], 'min': 2, 'max': 2}],
    )
    assert lease['name'] == 'renamed'
    assert lease['reservations'][0]['max'] == 2


@pytest.mark.parametrize(
    ('changes', 'status', 'reason'),
    [
        (
            {'start': 'soon'},
            400,
            'soon is an invalid date. Required format: %Y-%m-%d %H:%M',
        ),
        (
            {'end': '2040-01-01 10:00'},
            400,
            'End date must be later than start date.',
        ),
        (
            {'reservations': [HOST | {'min': 4, 'max': 4}]},
            400,
            'Not enough hosts available',
        ),
        (
            {'reservations': [HOST | {'min': ''}]},
            400,
            'Malformed parameter min',
        ),
    ],
)
def test_the_library_raises_our_reason(ours, changes, status, reason):
    with pytest.raises(exception.BlazarClientException) as refused:
        ask(ours, **changes)
    assert refused.value.kwargs['code'] == status
    assert str(refused.value).startswith(f'ERROR: {reason}')


def test_the_library_enrols_describes_and_removes_hosts(blazar, admin):
    operator = blazar(admin)
    host = operator.host.create('h1', gpu='A100', cores=4)
    assert host['cores'] == '4'
    assert operator.host.list() == [operator.host.get(host['id'])]
    host = operator.host.update(host['id'], {'gpu': 'H100', 'cores': None})
    assert (host['gpu'], 'cores' in host) == ('H100', False)
    assert operator.host.get_property('gpu')['property_values'] == ['H100']
    assert operator.host.set_property('gpu', True)['private']
    assert operator.host.list_properties() == []
    assert operator.host.list_properties(all=True) == [{'property': 'gpu'}]
    operator.host.delete(host['id'])
    assert operator.host.list() == []


def test_the_library_shows_allocations(ours, blazar, admin):
    lease = ask(ours)
    operator = blazar(admin)
    [taken] = [
        each
        for each in operator.allocation.list('os-hosts')
        if each['reservations']
    ]
    assert taken['reservations'][0]['lease_id'] == lease['id']
    assert taken == operator.allocation.get('os-hosts', taken['resource_id'])


def test_the_commands_of_leases(openstack, member, enrolled):
    run = openstack(member)
    created = run(
        'lease',
        'create',
        '--start-date=2040-01-01 10:00',
        '--end-date=2040-01-01 12:00',
        '--reservation=resource_type=physical:host,min=1,max=2,'
        'hypervisor_properties=[">=", "$vcpus", "2"]',
        '--event=event_type=notification,event_date=2040-01-01 11:00',
        'mine',
    )
    assert 'Created a new lease' in created
    listed = json.loads(run('lease', 'list', '-f', 'json'))
    assert [each['name'] for each in listed] == ['mine']
    for lease in ('mine', listed[0]['id']):
        shown = json.loads(run('lease', 'show', lease, '-f', 'json'))
        assert shown['status'] == 'PENDING'
    reservation = json.loads(shown['reservations'])['id']
    changes = ['--name=new', '--prolong-for=1h', '--advance-by=1h']
    changes.append(f'--reservation=id={reservation},min=2,max=3')
    assert run('lease', 'set', 'mine', *changes) == 'Updated lease: mine\n'
    [lease] = member('GET', '/leases').json['leases']
    assert lease['name'] == 'new'
    assert lease['start_date'] == '2040-01-01T09:00:00.000000'
    assert lease['end_date'] == '2040-01-01T13:00:00.000000'
    assert lease['reservations'][0]['max'] == 3
    assert run('lease', 'delete', 'new') == 'Deleted lease: new\n'
    assert json.loads(run('lease', 'list', '-f', 'json')) == []


@pytest.fixture
def slots(services, cloud, settings):
    """Types of slots are switched on."""
    cloud.known_flavors['small'] = ports.KnownFlavor(
        'small',
        'm1.small',
        True,
        ports.Flavor(1, 512, 5),
        {'VCPU': 1},
        frozenset(),
        frozenset(),
    )
    services.means.types.update(
        {
            'virtual:instance': instance.VirtualInstance(cloud, settings),
            'flavor:instance': flavor.FlavorInstance(cloud, settings),
        }
    )


def test_the_commands_of_instances(openstack, member, enrolled, slots):
    run = openstack(member)
    virtual = 'resource_type=virtual:instance,vcpus=2,memory_mb=1024,amount=2,'
    for name, item in {
        'one': virtual + 'disk_gb=10,affinity=False,resource_properties=',
        'two': virtual + 'disk_gb=0',
        'three': 'resource_type=flavor:instance,flavor_id=small,amount=3',
    }.items():
        run(
            *('lease', 'create', name, '--reservation', item),
            *('--start-date', '2040-01-01 10:00'),
            *('--end-date', '2040-01-01 12:00'),
        )
        shown = json.loads(run('lease', 'show', name, '-f', 'json'))
        assert shown['status'] == 'PENDING'


def test_the_commands_of_hosts(openstack, admin):
    run = openstack(admin)
    assert 'Created a new host' in run(
        'host', 'create', '--extra=gpu=A100', '--extra=rack=7', 'h1'
    )
    name = 'h1.example.org'
    assert run('host', 'set', '--extra=gpu=H100', name).startswith('Updated')
    [listed] = json.loads(run('host', 'list', '-f', 'json'))
    for host in (name, listed['id']):
        shown = json.loads(run('host', 'show', host, '-f', 'json'))
        assert (shown['gpu'], shown['service_name']) == ('H100', 'h1')
    assert run('host', 'property', 'set', '--private', 'rack').startswith(
        'Updated'
    )
    properties = ['host', 'property', 'list', '--detail', '-f', 'json']
    public = json.loads(run(*properties))
    assert [each['property'] for each in public] == ['gpu']
    everything = json.loads(run(*properties, '--all'))
    assert [each['property'] for each in everything] == ['gpu', 'rack']
    shown = run('host', 'property', 'show', 'gpu', '-f', 'json')
    assert json.loads(shown)['property_values'] == ['H100']
    assert run('host', 'delete', name) == f'Deleted host: {name}\n'
    assert json.loads(run('host', 'list', '-f', 'json')) == []


def test_the_command_that_4_6_0_forgot_to_name(blazar, admin):
    """`openstack reservation host unset` names a class that does not exist."""
    admin('POST', '/os-hosts', {'name': 'h1', 'gpu': 'A100'})
    app = types.SimpleNamespace(client=blazar(admin), stdout=io.StringIO())
    command = shell_hosts.UnsetAttributesHost(app, None)
    command.run(command.get_parser('unset').parse_args(['--extra=gpu', '1']))
    assert 'gpu' not in admin('GET', '/os-hosts/1').json['host']


def test_the_commands_of_allocations(openstack, member, admin, enrolled):
    lease = member.lease()
    run = openstack(admin)
    listed = json.loads(run('allocation', 'list', 'host', '-f', 'json'))
    assert [each['resource_id'] for each in listed] == ['1', '2', '3']
    [taken] = [each for each in listed if each['reservations']]
    shown = run(
        *('allocation', 'show', 'host', taken['resource_id']),
        *('--lease-id', lease['id'], '-f', 'json'),
    )
    assert lease['reservations'][0]['id'] in shown


def test_the_commands_print_our_reason(openstack, member, enrolled):
    run = openstack(member)
    late = ['--end-date=2040-01-01 12:00', 'mine']
    late.append('--reservation=resource_type=physical:host,min=4,max=4')
    refused = run('lease', 'create', *late)
    assert 'ERROR: Not enough hosts available: 3 hosts match' in refused
    refused = run('lease', 'create', *late, '--start-date=2029-01-01 10:00')
    assert 'ERROR: Start date must be later than current date' in refused
    refused = run('allocation', 'list', 'host')
    assert (
        "ERROR: Policy doesn't allow reservations:hosts:allocations to be"
    ) in refused
    refused = run('lease', 'show', 'fb5ec2d1-1e3a-4a3f-8b6e-3a1f0a9f2f70')
    assert 'ERROR: Lease fb5ec2d1-1e3a-4a3f-8b6e-3a1f0a9f2f70' in refused
