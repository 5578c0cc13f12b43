# SPDX-License-Identifier: Apache-2.0
from oslo_config import cfg
from oslo_config import generator
import pytest

from nova_reservations import conf
from nova_reservations.engine import settings

OPTIONS = [
    pytest.param(group, option, id=f'{group.name}.{option.name}')
    for group, options in conf.list_opts()
    for option in options
]


@pytest.mark.parametrize(('group', 'option'), OPTIONS)
def test_an_option_says_what_it_does_and_takes(group, option):
    what, _, values = option.help.partition('\n\nPossible values:\n\n* ')
    assert what.strip()
    assert values.strip()


@pytest.mark.parametrize(('group', 'option'), OPTIONS)
def test_a_number_has_bounds(group, option):
    if isinstance(option.type, cfg.types.Number):
        assert option.type.min is not None


@pytest.mark.parametrize(
    ('name', 'longest'),
    [
        ('unused_lease_timeout', 36500 * 1440),
        ('max_lease_duration', 36500 * 86400),
        ('reservation_extension_window', 36500 * 86400),
        ('max_start_ahead', 36500 * 86400),
    ],
)
def test_a_time_that_no_date_has_is_refused_at_the_start(
    tmp_path, name, longest
):
    def read(seconds):
        file = tmp_path / 'nova.conf'
        file.write_text(f'[reservations]\n{name} = {seconds}\n')
        read = cfg.ConfigOpts()
        conf.register_opts(read)
        read([], default_config_files=[str(file)], default_config_dirs=[])
        conf.check(read)
        return settings.Settings.of(read)

    read(longest)
    with pytest.raises(cfg.ConfigFileValueError, match=name) as refused:
        read(longest + 1)
    assert 'less than or equal to' in str(refused.value)


def limits_of(tmp_path, text):
    file = tmp_path / 'nova.conf'
    file.write_text(f'[reservations]\nmax_reserved_resources = {text}\n')
    read = cfg.ConfigOpts()
    conf.register_opts(read)
    read([], default_config_files=[str(file)], default_config_dirs=[])
    return settings.Settings.of(read).limits


def test_limits_have_the_names_of_types_colon_and_all(tmp_path):
    text = 'virtual:floatingip=10, example:licence/SEATS = 4, a:b=-1'
    known = limits_of(tmp_path, text)
    assert known.resources == {
        'virtual:floatingip': 10,
        'example:licence/SEATS': 4,
    }
    assert known.is_any


@pytest.mark.parametrize(
    'text',
    ['virtual:floatingip:3', 'a:b=x', 'physical:host=3', 'hosts=3', 'a:b=-2'],
)
def test_limits_that_mean_nothing_are_refused_at_the_start(tmp_path, text):
    with pytest.raises(
        cfg.ConfigFileValueError, match='max_reserved_resources'
    ):
        limits_of(tmp_path, text)


def test_every_option_is_in_the_sample(tmp_path):
    sample = tmp_path / 'sample.conf'
    generator.main(
        ['--namespace', 'nova_reservations', '--output-file', str(sample)]
    )
    text = sample.read_text()
    for group, options in conf.list_opts():
        assert f'[{group.name}]' in text
        for option in options:
            assert f'\n#{option.name} =' in text


def test_two_configurations_share_no_values():
    one, other = cfg.ConfigOpts(), cfg.ConfigOpts()
    for options in (one, other):
        conf.register_opts(options)
    one.set_override('heal_evacuate', True, group='reservations')
    other([], default_config_files=[], default_config_dirs=[])
    assert not other.reservations.heal_evacuate
