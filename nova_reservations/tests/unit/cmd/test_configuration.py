# SPDX-License-Identifier: Apache-2.0
"""nova-reservations-status checks the files that operators edit."""

from collections.abc import Callable
import pathlib
import sys

from nova.conf import scheduler
from nova.conf import service_token
from nova.conf import wsgi
from oslo_config import cfg
from oslo_upgradecheck import upgradecheck
import pytest

from nova_reservations import conf as options
from nova_reservations.cloud import credentials
from nova_reservations.cmd import status

SHIPPED = pathlib.Path(sys.prefix, 'etc', 'nova', 'api-paste.ini').read_text()
FILTER = """
[filter:reservations]
paste.filter_factory = nova_reservations.api.middleware:Reservations.factory
"""
CONTEXT = ' keystonecontext '
OURS = ' keystonecontext reservations '
WHOLE = SHIPPED.replace(CONTEXT, OURS) + FILTER
OF_NOVA = 'available_filters = nova.scheduler.filters.all_filters\n'
ENABLED = 'enabled_filters = ComputeFilter, ReservationFilter\n'
AVAILABLE = (
    'available_filters = '
    'nova_reservations.scheduler.host_filter.ReservationFilter\n'
)

Check = Callable[[status.Checks], upgradecheck.Result]


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv('OS_NOVA_CONFIG_DIR', raising=False)


@pytest.fixture
def checks_of(tmp_path: pathlib.Path) -> Callable[..., status.Checks]:
    """Checks where these are nova.conf, and api-paste.ini beside it."""

    def make(conf: str = '', paste: str | None = None) -> status.Checks:
        (tmp_path / 'nova.conf').write_text(conf)
        if paste is not None:
            (tmp_path / 'api-paste.ini').write_text(paste)
        opts = cfg.ConfigOpts()
        for module in (scheduler, service_token, wsgi, options):
            module.register_opts(opts)
        opts(
            ['--config-file', str(tmp_path / 'nova.conf')],
            default_config_dirs=[],
        )
        return status.Checks(opts)

    return make


def test_the_files_of_the_guide_are_right(checks_of):
    checks = checks_of(
        '[filter_scheduler]\n' + OF_NOVA + AVAILABLE + ENABLED, WHOLE
    )
    assert checks.scheduler().code == status.Code.SUCCESS
    assert checks.api().code == status.Code.SUCCESS
    assert checks.nova_version().code == status.Code.SUCCESS


@pytest.mark.parametrize(
    ('options', 'said'),
    [
        (OF_NOVA + ENABLED, 'Write both lines'),
        (AVAILABLE + ENABLED, 'Write both lines'),
        (OF_NOVA + AVAILABLE, 'ServerGroupAffinityFilter, ReservationFilter'),
    ],
    ids=['not available', "nova's own are not available", 'not enabled'],
)
def test_the_filter_must_be_known_and_used(checks_of, options, said):
    result = checks_of('[filter_scheduler]\n' + options).scheduler()
    assert result.code == status.Code.FAILURE
    assert said in result.details


@pytest.mark.parametrize(
    ('conf', 'said'),
    [
        (OF_NOVA + AVAILABLE, 'names nonsense: no installed package'),
        (OF_NOVA, 'resource_filter.ResourceFilter'),
    ],
    ids=['unknown', 'not loaded'],
)
def test_consumers_must_be_there_and_be_loaded(checks_of, conf, said):
    names = '[DEFAULT]\nscheduler_consumers = cu, nonsense\n'
    checks = checks_of(names + '[filter_scheduler]\n' + conf)
    result = checks.resources()
    assert result.code == status.Code.FAILURE
    assert said in result.details


def test_without_consumers_no_host_is_looked_at(checks_of):
    assert checks_of('').resources().code == status.Code.SUCCESS


@pytest.mark.parametrize(
    ('paste', 'said'),
    [
        (SHIPPED + FILTER, '[composite:openstack_compute_api_v21] lacks'),
        (
            SHIPPED.replace(CONTEXT, OURS, 1) + FILTER,
            '[composite:openstack_compute_api_v21_legacy_v2_compatible] lacks',
        ),
        (
            SHIPPED.replace(CONTEXT, ' reservations keystonecontext ')
            + FILTER,
            'before keystonecontext',
        ),
        (
            WHOLE.replace(
                'use = call:nova.api.auth:pipeline_factory_v21\n',
                'use = call:nova.api.auth:pipeline_factory_v21\n'
                'noauth2 = cors noauth2 osapi_compute_app_v21\n',
            ),
            'lacks "reservations"',
        ),
        (SHIPPED.replace(CONTEXT, OURS), '  [filter:reservations]'),
        (
            WHOLE.replace('api.middleware', 'api.other'),
            'nova_reservations.api.middleware:Reservations.factory',
        ),
        (FILTER, 'not the file of nova-api'),
        ('[filter:x\n', 'can not be read'),
        (None, 'There is no api-paste.ini'),
    ],
    ids=[
        'in no pipeline',
        'not in the older pipeline',
        'too early',
        'not in a pipeline beside',
        'not defined',
        'not ours',
        'without pipelines',
        'malformed',
        'missing',
    ],
)
def test_the_filter_must_stand_in_every_pipeline(checks_of, paste, said):
    result = checks_of('', paste).api()
    assert result.code == status.Code.FAILURE
    assert said in result.details


def test_the_file_is_where_nova_api_reads_it(checks_of, tmp_path, monkeypatch):
    folder = tmp_path / 'of-the-api'
    folder.mkdir()
    monkeypatch.setenv('OS_NOVA_CONFIG_DIR', str(folder))
    checks = checks_of('', WHOLE)
    assert checks.api().code == status.Code.FAILURE
    (folder / 'api-paste.ini').write_text(WHOLE)
    assert checks.api().code == status.Code.SUCCESS


def test_a_service_user_is_recommended(checks_of, monkeypatch):
    monkeypatch.setattr(credentials, 'context', lambda: None)
    assert checks_of('').service_user().code == status.Code.WARNING
    conf = '[service_user]\nsend_service_user_token = true\n'
    assert checks_of(conf).service_user().code == status.Code.SUCCESS


def test_values_that_can_not_be_are_named_and_keep_no_check_from_the_rest(
    checks_of,
):
    checks = checks_of(
        '[reservations]\nlimits = of-keystone\nmax_open_leases = -5\n'
    )
    result = checks.options()
    assert result.code == status.Code.FAILURE
    assert "found 'of-keystone'" in result.details
    assert 'option max_open_leases' in result.details
    # The invalid value does not stop the check of the others.
    assert checks.limits().code == status.Code.WARNING


@pytest.mark.parametrize('section', ['reservations', 'RESERVATIONS'])
@pytest.mark.parametrize('name', ['max_open_lease', 'max-open-leases'])
def test_a_misspelt_option_is_named_for_nobody_reads_it(
    checks_of, section, name
):
    result = checks_of(f'[{section}]\n{name} = 3\n').options()
    assert result.code == status.Code.WARNING
    assert f'{name} is no option' in result.details
    assert 'is max_open_leases meant?' in result.details


def test_options_are_known_by_their_names(checks_of):
    conf = '[reservations]\nmax_open_leases = 3\n'
    assert checks_of(conf).options().code == status.Code.SUCCESS


@pytest.mark.parametrize(
    ('section', 'code'),
    [
        ('reservation', status.Code.WARNING),
        ('Reservation', status.Code.WARNING),
        ('reservations', status.Code.SUCCESS),
        ('RESERVATIONS', status.Code.SUCCESS),
        ('service_user', status.Code.SUCCESS),
        ('of_another_package', status.Code.SUCCESS),
    ],
)
def test_a_section_that_nobody_reads_is_named(checks_of, section, code):
    result = checks_of(f'[{section}]\n').options()
    assert result.code == code
    if code == status.Code.WARNING:
        assert f'[{section}] is read by nobody' in result.details
        assert 'is [reservations] meant?' in result.details


@pytest.mark.parametrize(
    ('conf', 'said'),
    [
        ('resource_types =', 'resource_types is empty'),
        ('before_end_actions = webhook', 'webhook_addresses, webhook_secret'),
        ('default_before_end = webhook', 'webhook_addresses, webhook_secret'),
        (
            'before_end_actions = webhook\n'
            'webhook_addresses = https://user:hidden@example.org',
            'without webhook_secret: nobody is told of an end. Set it,',
        ),
        ('before_end_actions = email', 'email_server, email_from, email_to'),
        (
            'before_end_actions = email\nemail_server = a\nemail_from = b\n'
            'email_to = {user}@example.org',
            'email_to can have {user_id}',
        ),
        (
            'enforcement = external_service',
            'Set external_service_base_endpoint',
        ),
        (
            'default_reservation = true',
            'default_reservation needs virtual:server',
        ),
    ],
)
def test_options_that_can_not_work_are_named_with_what_to_do(
    checks_of, conf, said
):
    result = checks_of(f'[reservations]\n{conf}\n').options()
    assert result.code == status.Code.FAILURE
    assert said in result.details
    assert 'hidden' not in result.details


@pytest.mark.parametrize(
    ('conf', 'said'),
    [
        ('rating = flat', 'Set rating_flat_price'),
        ('rating = flat\nrating_flat_price = 0.00', 'Set rating_flat_price'),
        ('rating = used', 'Set rating_prices'),
        ('rating_prices = VCPU=1', 'rating_prices is not read'),
    ],
)
def test_a_price_that_has_no_effect_is_named(checks_of, conf, said):
    result = checks_of(f'[reservations]\n{conf}\n').options()
    assert result.code == status.Code.WARNING
    assert said in result.details


@pytest.mark.parametrize(
    'conf',
    [
        'rating = flat\nrating_flat_price = 0.50',
        'rating = used\nrating_prices = VCPU=1',
        'rating = of_a_plugin\nrating_prices = VCPU=1',
        'enforcement = external_service\n'
        'external_service_on_end_endpoint = https://example.org/',
        'before_end_actions = webhook\nwebhook_secret = a\n'
        'webhook_addresses = https://example.org/',
        'before_end_actions = email\nemail_server = a\nemail_from = b\n'
        'email_to = {user_id}@example.org',
    ],
)
def test_options_that_are_complete_are_right(checks_of, conf):
    result = checks_of(f'[reservations]\n{conf}\n').options()
    assert result.code == status.Code.SUCCESS


@pytest.mark.parametrize(
    ('option', 'name'),
    [
        ('resource_types', 'physical:hots'),
        ('rating', 'reservd'),
        ('enforcement', 'extern'),
        ('best_effort_strategy', 'nope'),
    ],
)
def test_a_plugin_that_is_missing_fails_a_check_and_not_the_command(
    tmp_path, checks_of, option, name
):
    checks = checks_of(
        f'[reservations]\nconnection = sqlite:///{tmp_path}/x\n'
        f'{option} = {name}\n'
    )
    result = checks.database()
    assert result.code == status.Code.FAILURE
    assert f'{option} names {name}' in result.details
