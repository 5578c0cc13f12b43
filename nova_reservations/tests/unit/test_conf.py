# SPDX-License-Identifier: Apache-2.0
from oslo_config import cfg
from oslo_config import generator
import pytest

from nova_reservations import conf

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
