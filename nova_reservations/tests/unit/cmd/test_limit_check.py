# SPDX-License-Identifier: Apache-2.0
"""The upgrade check of limits in keystone."""

from keystoneauth1 import access
from keystoneauth1 import exceptions as session_exceptions
from keystoneauth1 import fixture as tokens
from oslo_config import cfg
from oslo_config import fixture as config_fixture
from oslo_limit import fixture
import pytest

from nova_reservations import conf as options
from nova_reservations.cmd import limit_check
from nova_reservations.cmd import status
from nova_reservations.objects import limits

pytestmark = pytest.mark.since_nova(
    32, reason='oslo.limit of 2025.1 can not tell all limits at once'
)

SUCCESS, WARNING, FAILURE = status.Code
ALL = {f'reservations:{name}': -1 for name in limits.NAMES}


@pytest.fixture
def oslo_limit():
    config = config_fixture.Config(cfg.CONF)
    with config:
        config.config(endpoint_id='nova', timeout=5, group='oslo_limit')
        yield config


@pytest.fixture
def conf():
    conf = cfg.ConfigOpts()
    options.register_opts(conf)
    conf([])
    conf.set_override('limits', 'unified', group='reservations')
    return conf


@pytest.fixture
def keystone(oslo_limit):
    registered = {**ALL}
    with fixture.LimitFixture(registered, {}) as keystone:
        keystone.registered = registered
        use(keystone, 'reader', system=True)
        yield keystone


def use(keystone, *roles, system=False):
    """Let [oslo_limit] name a user with these roles."""
    token = tokens.V3Token()
    if system:
        token.set_system_scope()
    else:
        token.set_project_scope()
    for role in roles:
        token.add_role(name=role)
    auth = keystone.mock_conn.session.auth
    auth.get_access.return_value = access.create(
        body=token, auth_token='token'
    )


def check(conf):
    result = status.Checks(conf).limits()
    return result.code, ' '.join((result.details or '').split())


def test_all_is_well_where_all_is_registered(conf, keystone):
    assert check(conf) == (SUCCESS, '')


def test_limits_in_the_configuration_need_no_keystone(conf, oslo_limit):
    conf.set_override('limits', 'configured', group='reservations')
    oslo_limit.config(endpoint_id=None, group='oslo_limit')
    assert check(conf) == (SUCCESS, '')


def test_an_endpoint_must_be_named(conf, keystone, oslo_limit):
    oslo_limit.config(endpoint_id=None, group='oslo_limit')
    code, said = check(conf)
    assert code == FAILURE
    assert 'openstack endpoint list --service nova' in said


def test_a_keystone_that_does_not_answer_is_a_failure(conf, keystone):
    error = session_exceptions.ConnectFailure('nobody listens')
    keystone.mock_conn.get_endpoint.side_effect = error
    code, said = check(conf)
    assert code == FAILURE
    assert 'nobody listens' in said
    assert 'auth_url' in said


@pytest.mark.parametrize(
    ('role', 'code'), [('reader', FAILURE), ('service', WARNING)]
)
def test_the_user_must_see_limits_of_all_projects(conf, keystone, role, code):
    use(keystone, role)
    seen, said = check(conf)
    assert seen == code
    assert 'openstack role add --user USER --system all reader' in said


def test_a_keystone_may_hang_where_there_is_no_timeout(
    conf, keystone, oslo_limit
):
    oslo_limit.config(timeout=None, group='oslo_limit')
    code, said = check(conf)
    assert code == WARNING
    assert 'Set timeout = 5' in said


def test_a_limit_that_is_not_registered_is_named(conf, keystone):
    del keystone.registered['reservations:hosts']
    code, said = check(conf)
    assert code == WARNING
    assert 'no registered limit reservations:hosts' in said
    assert 'openstack registered limit create' in said


@pytest.mark.parametrize(
    ('name', 'said'),
    [
        ('virtual:floatingips', 'is virtual:floatingip meant?'),
        ('virtual:floatingip/SEATS', 'that there is has SEATS'),
        ('hots', 'hots is no type that can be leased here'),
    ],
)
def test_limits_in_keystone_are_of_types_that_can_be_leased(
    conf, keystone, name, said
):
    keystone.registered[f'reservations:{name}'] = 1
    keystone.registered['reservations:virtual:floatingip'] = 1
    keystone.registered['compute:servers'] = 1
    [found] = limit_check.warnings(
        conf, lambda: {'virtual:floatingip': (), 'example:licence': ('SEATS',)}
    )
    assert found.startswith(f'Keystone has a limit reservations:{name}, and')
    assert said in found


def test_limits_are_not_judged_where_the_database_does_not_tell_types(
    conf, keystone
):
    keystone.registered['reservations:virtual:nothing'] = 1
    assert list(limit_check.warnings(conf, lambda: None)) == []
