# SPDX-License-Identifier: Apache-2.0
"""The upgrade check where something that it needs does not work."""

import pytest
import sqlalchemy as sa

from nova_reservations import exception
from nova_reservations.cloud import conductors
from nova_reservations.cloud import credentials
from nova_reservations.cmd import status
from nova_reservations.db import models
from nova_reservations.tests.functional.cmd.test_status import FAILURE
from nova_reservations.tests.functional.cmd.test_status import lease_a_host
from nova_reservations.tests.functional.cmd.test_status import SUCCESS
from nova_reservations.tests.functional.cmd.test_status import WARNING


@pytest.fixture
def results(controller, monkeypatch):
    """Makes all checks, with these lines in nova.conf."""
    monkeypatch.setattr(conductors, 'everywhere', list)

    def check(*lines):
        file = controller.conf_file
        file.write_text('\n'.join([file.read_text(), *lines, '']))
        return controller.results()

    return check


def naming(results, what):
    """Return the checks whose findings have these words."""
    return {
        name: code
        for name, (code, said) in results.items()
        if what in (said or '')
    }


def test_an_invalid_option_is_told_once(controller):
    file = controller.conf_file
    file.write_text(f'{file.read_text()}max_lease_duration = long\n')
    opts = controller._opts()
    opts(['--config-file', str(file)])
    checks = status.Checks(opts)
    found = {name: check(checks) for name, check in checks._upgrade_checks}
    told = [
        name
        for name, result in found.items()
        if 'option max_lease_duration ' in (result.details or '')
    ]
    assert told == ['nova.conf: reservations']
    others = found['Database'], found['Volumes'], found['Stacks']
    for other in others:
        assert other.code == WARNING
        assert other.details == (
            'Not checked: see the check "nova.conf: reservations".'
        )


@pytest.mark.parametrize(
    'lines',
    [
        ('[DEFAULT]', 'rpc_response_timeout = x'),
        ('[api_database]', 'max_retries = many'),
    ],
)
def test_an_invalid_option_of_novas_is_found(results, lines):
    found = results(*lines)
    code, said = found['nova.conf: other options']
    assert code == FAILURE
    assert f'option {lines[1].partition(" ")[0]} ' in said


def test_options_that_nobody_here_knows_are_none_of_ours(results):
    found = results('[libvirt]', 'of_nobody = x', '[nobody]', 'x = y')
    assert found['nova.conf: other options'] == (SUCCESS, None)


def test_a_cause_that_stops_several_checks_is_told_once(results, monkeypatch):
    def gone(*args):
        raise exception.CloudUnavailable(service="Nova's database", reason='x')

    monkeypatch.setattr(conductors, 'everywhere', gone)
    monkeypatch.setattr(conductors, 'unreachable', gone)
    found = results('conductors_guarded = true')
    assert naming(found, 'can not be reached') == {'Message bus': FAILURE}
    assert found['nova-conductors'] == (
        WARNING,
        'Not checked: see the check "Message bus".',
    )


def test_a_finding_that_an_audit_mends_says_so(controller):
    controller.manage('host', 'add', 'h1', 'h2')
    controller.cloud.marked.remove('h1')
    controller.cloud.aggregate_hosts['left-over'] = {'h2'}
    lease_a_host(controller)
    with controller.services().database.writer() as session:
        session.execute(sa.update(models.Lease).values(due_at=None))
    found = controller.results()
    mended = naming(found, '"nova-reservations-manage audit --repair" mends')
    assert {*mended} == {'Enrolled hosts', 'Leases'}
    controller.cloud.marked.add('unknown')
    for line in controller.results()['Enrolled hosts'][1].splitlines():
        assert ('--repair' in line) == line.startswith('Host h1 lacks')


def test_a_bus_that_is_down_is_named_with_the_option(results, monkeypatch):
    monkeypatch.setattr(
        conductors,
        'unreachable',
        lambda: [
            conductors.Lost(
                'mq:5672', 'no route', ('[DEFAULT] in nova.conf', 'cell one')
            )
        ],
    )
    assert results()['Message bus'] == (
        FAILURE,
        'The message bus is not reached at mq:5672: no route. See transport_'
        'url of [DEFAULT] in nova.conf and of cell one.',
    )


@pytest.mark.parametrize(
    'any_database', ['mysql', 'postgresql'], indirect=True
)
def test_a_wrong_password_is_no_database_that_is_down(
    bare_controller, any_database
):
    url = sa.make_url(any_database.url).set(username='mallory', password='x')
    bare_controller.conf_file.write_text(
        '[reservations]\nconnection = '
        f'{url.render_as_string(hide_password=False)}\n'
    )
    code, said = bare_controller.results()['Database']
    assert code == FAILURE
    assert 'refuses the name or the password' in said
    assert 'can not be reached' not in said


def test_a_wrong_password_is_no_keystone_that_is_down(monkeypatch):
    class Plugin:
        def get_access(self, session):
            raise credentials.ks_exc.Unauthorized('who?')

    monkeypatch.setattr(credentials, 'plugin', Plugin)
    with pytest.raises(exception.CloudUnavailable) as refused:
        credentials.context()
    assert 'Keystone refuses the name or the password' in str(refused.value)
    assert 'can not be reached' not in str(refused.value)
