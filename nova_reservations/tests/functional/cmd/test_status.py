# SPDX-License-Identifier: Apache-2.0
import datetime

from keystoneauth1 import exceptions as ks_exc
import pytest
import sqlalchemy as sa

from nova_reservations import exception
from nova_reservations import hooks
from nova_reservations import objects
from nova_reservations.cloud import conductors
from nova_reservations.cloud import credentials
from nova_reservations.cmd import check_results
from nova_reservations.cmd import status
from nova_reservations.db import models
from nova_reservations.engine.booking import lease_requests
from nova_reservations.testing import pools
from nova_reservations.tests.unit.cmd import test_configuration as files
from nova_reservations.types.cinder import fake as fake_volumes

SUCCESS, WARNING, FAILURE = status.Code


def lease_a_host(controller):
    services = controller.services()
    now = services.database.now()
    services.leases.create(
        lease_requests.NewLease(
            name='lease',
            project_id='project',
            user_id='user',
            start=now + datetime.timedelta(hours=1),
            end=now + datetime.timedelta(hours=2),
            before_end=None,
            reservations=(
                lease_requests.NewReservation(
                    objects.HOST, {'min': 1, 'max': 1}
                ),
            ),
        ),
        now,
    )


def test_steps_of_an_installation_make_checks_green_one_by_one(
    bare_controller, monkeypatch
):
    monkeypatch.setattr(credentials, 'context', lambda: None)
    controller = bare_controller
    conf = controller.conf_file.read_text()
    paste = controller.conf_file.parent / 'api-paste.ini'
    paste.write_text(files.SHIPPED)

    def red():
        return {
            name
            for name, (code, _) in controller.results().items()
            if code != SUCCESS
        }

    after_database = {
        'Enrolled hosts',
        'Leases',
        'Failed leases',
        'Clocks',
        'Aggregate and region',
        'Mass failure',
        'Before uninstalling',
    }
    wrong = {
        'nova.conf: scheduler',
        'api-paste.ini',
        'Database',
        'Service user token',
        *after_database,
    }
    assert red() == wrong

    conf += (
        '[filter_scheduler]\n' + files.OF_NOVA + files.AVAILABLE
    ) + files.ENABLED
    controller.conf_file.write_text(conf)
    wrong.remove('nova.conf: scheduler')
    assert red() == wrong

    paste.write_text(files.WHOLE)
    wrong.remove('api-paste.ini')
    assert red() == wrong

    assert controller.manage('db', 'sync').exit_code == 0
    wrong -= {'Database', *after_database}
    assert red() == wrong
    assert controller.status().exit_code == WARNING

    controller.conf_file.write_text(
        conf + '[service_user]\nsend_service_user_token = true\n'
    )
    assert not red()
    assert controller.status().exit_code == SUCCESS


def test_hooks_of_other_processes_are_looked_at_too(monkeypatch):
    misfits = {'compute': ['nova.x:y is missing (what for)']}
    monkeypatch.setattr(hooks, 'misfits', lambda name: misfits.get(name, []))
    result = status.Checks(conf=None).nova_version()
    assert result.code == WARNING
    assert 'nova-compute' in result.details
    assert 'nova.x:y is missing' in result.details


def test_a_missing_schema_says_what_to_run(bare_controller):
    code, said = bare_controller.results()['Database']
    assert code == FAILURE
    assert 'nova-reservations-manage db sync' in said


def test_a_database_that_is_down_says_where_to_look(bare_controller):
    bare_controller.conf_file.write_text(
        '[reservations]\nconnection = postgresql+psycopg2://127.0.0.1:1/x\n'
    )
    code, said = bare_controller.results()['Database']
    assert code == FAILURE
    assert f'connection, in {bare_controller.conf_file}' in said


def test_a_plugin_that_is_not_installed_is_named(bare_controller):
    file = bare_controller.conf_file
    conf = file.read_text()
    for option in ('resource_types', 'default_before_end'):
        file.write_text(f'{conf}{option} = typo\n')
        opts = bare_controller._opts()
        opts(['--config-file', str(file)])
        result = status.Checks(opts).database()
        assert result.code == FAILURE
        assert f'{option} names typo' in result.details


def test_a_value_that_is_not_allowed_is_named(controller):
    file = controller.conf_file
    conf = file.read_text()
    for line in (
        'allowed_end_actions = delete, shelf',
        'webhook_addresses = ftp://example.org/',
        'cleaning_time = soon',
    ):
        file.write_text(f'{conf}{line}\n')
        answer = controller.manage('host', 'list')
        assert answer.exit_code == 1
        [said] = answer.err.splitlines()
        assert f'option {line.partition(" ")[0]} ' in said


@pytest.mark.parametrize(
    ('error', 'said'),
    [
        (
            exception.CloudRefused(what='[service_user]', reason='no'),
            'has no credentials: set auth_type',
        ),
        (
            exception.CloudUnavailable(service='Keystone', reason='no'),
            'No token is got',
        ),
        (ks_exc.NoMatchingPlugin('pasword'), 'pasword'),
    ],
)
def test_a_token_of_the_service_user_is_got(
    controller, monkeypatch, error, said
):
    def context():
        raise error

    monkeypatch.setattr(credentials, 'context', context)
    file = controller.conf_file
    file.write_text(
        file.read_text() + '[service_user]\nsend_service_user_token = true\n'
    )
    monkeypatch.setattr(credentials, 'regions', context)
    results = controller.results()
    for check in ('Service user token', 'Aggregate and region'):
        assert results[check][0] == FAILURE
    assert said in results['Service user token'][1]


def test_conductors_that_are_not_guarded_or_silent_are_named(
    controller, monkeypatch
):
    found = {
        'one': conductors.Said.GUARDED,
        'two': conductors.Said.NOT_GUARDED,
        'three': conductors.Said.NOTHING,
    }
    monkeypatch.setattr(
        conductors,
        'everywhere',
        lambda: [conductors.Conductor(host, 'cell1', None) for host in found],
    )
    monkeypatch.setattr(
        conductors,
        'ask',
        lambda asked: [(each, found[each.host]) for each in asked],
    )
    assert controller.results()['nova-conductors'] == (SUCCESS, None)
    file = controller.conf_file
    file.write_text(file.read_text() + 'conductors_guarded = true\n')
    code, said = controller.results()['nova-conductors']
    assert code == FAILURE
    not_guarded, silent = said.splitlines()
    assert 'on two (cell cell1) is not guarded' in not_guarded
    assert 'on three (cell cell1) does not answer' in silent


def test_an_aggregate_and_a_region_that_are_not_there_are_named(
    controller, monkeypatch
):
    monkeypatch.setattr(credentials, 'regions', lambda: {'north', 'south'})
    file = controller.conf_file
    file.write_text(
        file.read_text()
        + 'best_effort_aggregate = lent\nregion_name = sotuh\n'
    )
    code, said = controller.results()['Aggregate and region']
    assert code == WARNING
    aggregate, region = said.splitlines()
    assert 'has no aggregate lent' in aggregate
    assert 'region_name is sotuh' in region
    assert region.endswith('only: north, south')


def test_failed_leases_that_keep_hosts_are_named(controller):
    assert controller.manage('host', 'add', 'h1').exit_code == 0
    lease_a_host(controller)
    database = controller.services().database
    with database.writer() as session:
        session.execute(
            sa.update(models.Lease).values(
                status='ERROR', in_nova=True, status_reason='a server is left'
            )
        )
    code, said = controller.results()['Failed leases']
    assert code == WARNING
    assert said.splitlines()[1].endswith(
        'of project project: a server is left'
    )
    with database.writer() as session:
        session.execute(sa.update(models.Lease).values(in_nova=False))
    assert controller.results()['Failed leases'] == (SUCCESS, None)


def test_an_invalid_option_is_a_line_whichever_check_reads_it(controller):
    """It was a traceback of oslo.upgradecheck."""
    file = controller.conf_file
    conf = file.read_text()
    for group, line in (
        ('service_user', 'send_service_user_token = perhaps'),
        ('reservations', 'cleaning_time = soon'),
    ):
        file.write_text(f'{conf}[{group}]\n{line}\n')
        opts = controller._opts()
        opts(['--config-file', str(file)])
        checks = status.Checks(opts)
        results = [check(checks) for _, check in checks._upgrade_checks]
        name = line.partition(' ')[0]
        found = [
            result.details
            for result in results
            if name in (result.details or '')
        ]
        assert found
        assert all(
            f'option {name} ' in text and '\n' not in text for text in found
        )


def test_hosts_that_lost_their_marks_are_named_and_repaired(controller):
    controller.manage('host', 'add', 'h1', 'h2', 'h3')
    assert controller.results()['Enrolled hosts'] == (SUCCESS, None)
    controller.cloud.marked.remove('h1')
    controller.cloud.pool.remove('h2')
    code, said = controller.results()['Enrolled hosts']
    assert code == FAILURE
    assert 'Host h1 lacks the trait' in said
    assert 'Host h2 is not in the aggregate freepool' in said
    assert 'h3' not in said
    controller.manage('host', 'add', 'h1', 'h2')
    assert controller.results()['Enrolled hosts'] == (SUCCESS, None)


def test_a_trait_that_was_left_over_is_named(controller):
    controller.cloud.marked.add('h2')
    code, said = controller.results()['Enrolled hosts']
    assert code == FAILURE
    assert controller.cloud.known['h2'].uuid in said


def test_a_host_that_is_enrolled_half_way_is_named(controller):
    def stop(step):
        if step == 'join_pool':
            raise KeyboardInterrupt

    controller.cloud.before = stop
    answer = controller.manage('host', 'add', 'h1')
    assert answer.exit_code == 1
    assert 'may be repeated' in answer.err
    controller.cloud.before = lambda step: None
    code, said = controller.results()['Enrolled hosts']
    assert code == FAILURE
    assert 'Host h1 is enrolled half-way' in said
    assert 'has the trait' not in said


def test_many_findings_are_counted(controller):
    code, said = status.Code.FAILURE, [f'finding {n}' for n in range(99)]
    lines = check_results.of(code, said).details.splitlines()
    assert len(lines) == check_results.MANY + 1
    assert lines[-1] == f'And {99 - check_results.MANY} more'


def test_the_status_tells_what_to_drain_before_uninstalling(controller):
    assert controller.results()['Before uninstalling'] == (SUCCESS, None)
    controller.manage('host', 'add', 'h1', 'h2')
    lease_a_host(controller)
    code, said = controller.results()['Before uninstalling']
    assert code == SUCCESS
    assert '2 enrolled hosts' in said
    assert '1 PENDING' in said


def test_aggregates_of_no_lease_are_named(controller):
    controller.cloud.aggregate_hosts['left-over'] = {'h1'}
    code, said = controller.results()['Leases']
    assert code == WARNING
    assert 'left-over' in said


def test_every_check_that_is_not_green_is_printed_with_what_to_do(
    bare_controller,
):
    answer = bare_controller.status()
    assert answer.exit_code == FAILURE
    assert answer.out.count('| Check: ') == len(bare_controller.results())
    said = ' '.join(answer.out.replace('|', ' ').split())
    assert 'run "nova-reservations-manage db sync"' in said


def test_hosts_that_are_not_healed_are_named(controller):
    hosts = ('h1', 'h2', 'h3')
    controller.manage('host', 'add', *hosts)
    assert controller.results()['Mass failure'] == (SUCCESS, None)
    for name in hosts:
        controller.cloud.fail(name, forced_down=True)
    services = controller.services()
    services.monitoring.poll(services.database.now())
    code, said = controller.results()['Mass failure']
    assert code == WARNING
    assert 'nova-reservations-manage heal' in said
    assert {*hosts} <= set(said.split())


@pytest.mark.parametrize('leased', ['virtual:volume', 'physical:storage'])
def test_volumes_need_a_role_that_projects_inherit(controller, leased):
    volumes = controller.cloud.volumes
    volumes.without_role.add('lessee')
    volumes.is_silent = True
    assert controller.results()['Volumes'] == (SUCCESS, None)
    with controller.conf_file.open('a') as file:
        file.write(f'resource_types = {leased}\n')
    code, said = controller.results()['Volumes']
    assert (code, 'does not answer' in said) == (FAILURE, True)
    volumes.is_silent = False
    code, said = controller.results()['Volumes']
    assert (code, 'openstack role add' in said) == (WARNING, True)
    volumes.without_role.clear()
    assert controller.results()['Volumes'] == (SUCCESS, None)


def test_the_type_of_volumes_that_are_kept_must_be_there(controller):
    with controller.conf_file.open('a') as file:
        file.write('resource_types = virtual:volume\n')
        file.write('kept_volume_type = open\n')
    code, said = controller.results()['Volumes']
    assert (code, 'no volume type open' in said) == (FAILURE, True)
    controller.cloud.volumes.add_type('open', pool_name='open')
    assert controller.results()['Volumes'] == (SUCCESS, None)


def test_stacks_need_a_role_of_members_that_projects_inherit(controller):
    cloud = controller.cloud
    cloud.without_role.add('lessee')
    assert controller.results()['Stacks'] == (SUCCESS, None)
    with controller.conf_file.open('a') as file:
        file.write('resource_types = virtual:stack, flavor:instance\n')
    code, said = controller.results()['Stacks']
    assert (code, 'openstack role add' in said) == (WARNING, True)
    cloud.without_role.clear()
    assert controller.results()['Stacks'] == (SUCCESS, None)
    cloud.roles.append('admin')
    code, said = controller.results()['Stacks']
    assert (code, 'none is made: admin' in said) == (FAILURE, True)
    cloud.roles.remove('admin')
    cloud.catalog.append('workflowv2')
    code, said = controller.results()['Stacks']
    assert (code, 'has Mistral' in said) == (FAILURE, True)


def test_servers_of_stacks_need_their_type(controller):
    with controller.conf_file.open('a') as file:
        file.write('resource_types = virtual:stack\n')
    code, said = controller.results()['Stacks']
    assert (code, 'lacks flavor:instance' in said) == (FAILURE, True)


@pytest.mark.parametrize('leased', ['virtual:floatingip', 'virtual:network'])
def test_neutron_must_answer_and_let_us_act_for_projects(controller, leased):
    controller.cloud.neutron_is_silent = True
    assert controller.results()['Neutron'] == (SUCCESS, None)
    with controller.conf_file.open('a') as file:
        file.write(f'resource_types = {leased}\n')
    code, said = controller.results()['Neutron']
    assert (code, 'the endpoint in [neutron]' in said) == (FAILURE, True)
    controller.cloud.neutron_is_silent = False
    controller.cloud.is_administrator = False
    code, said = controller.results()['Neutron']
    assert (code, 'openstack role add' in said) == (FAILURE, True)
    controller.cloud.is_administrator = True
    assert controller.results()['Neutron'] == (SUCCESS, None)


def test_a_price_of_what_nobody_can_lease_is_named(controller):
    with controller.conf_file.open('a') as file:
        file.write(
            'resource_types = physical:host, virtual:volume\n'
            'rating = reserved\n'
            'rating_prices = physical:hosts=1, MEMORY_GB=1, VCPU=1, '
            'servers=1, slots=1, CUSTOM_GPU=1, VOLUME_GB=1\n'
        )
    code, said = controller.results()['nova.conf: reservations']
    assert code == WARNING
    assert 'of physical:hosts' in said
    assert 'is physical:host meant?' in said
    assert 'is MEMORY_MB meant?' in said
    # No pool with VOLUME_GB is enrolled yet.
    assert 'of VOLUME_GB' in said
    assert len(said.splitlines()) == 3
    controller.cloud.volumes.pools[pools.FAST] = fake_volumes.pool(pools.FAST)
    services = controller.services()
    services.resources.add(
        'virtual:volume', pools.FAST, services.database.now()
    )
    _, said = controller.results()['nova.conf: reservations']
    assert 'VOLUME_GB' not in said


def test_a_limit_of_what_nobody_can_lease_is_named(controller):
    with controller.conf_file.open('a') as file:
        file.write(
            'resource_types = physical:host, virtual:volume\n'
            'max_reserved_resources = virtual:volume=1, '
            'virtual:volume/VOLUME_GB=9, virtual:volumes=1, '
            'virtual:floatingip=1\n'
        )
    code, said = controller.results()['nova.conf: reservations']
    assert code == WARNING
    # No pool with VOLUME_GB is enrolled yet.
    assert 'virtual:volume/VOLUME_GB, and no virtual:volume that' in said
    assert 'virtual:volumes is no type that can be leased' in said
    assert 'is virtual:volume meant?' in said
    assert 'virtual:floatingip is no type' in said
    assert len(said.splitlines()) == 3
    controller.cloud.volumes.pools[pools.FAST] = fake_volumes.pool(pools.FAST)
    services = controller.services()
    services.resources.add(
        'virtual:volume', pools.FAST, services.database.now()
    )
    _, said = controller.results()['nova.conf: reservations']
    assert 'VOLUME_GB' not in said


def test_limits_that_nobody_reads_are_named(controller):
    with controller.conf_file.open('a') as file:
        file.write('limits = unified\nmax_reserved_hosts = 0\n')
        file.write('max_reserved_resources = virtual:nothing=1\n')
    code, said = controller.results()['nova.conf: reservations']
    assert code == WARNING
    assert 'max_reserved_hosts is not read' in said
    assert 'max_reserved_resources is not read' in said
    assert len(said.splitlines()) == 2
