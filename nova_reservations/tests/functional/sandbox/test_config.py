# SPDX-License-Identifier: Apache-2.0
import configparser

from oslo_config import cfg
import pytest

from sandbox import config
from sandbox import layout as lo


@pytest.fixture
def layout(tmp_path):
    made = lo.Layout(tmp_path, dict.fromkeys(lo.APIS, 1))
    made.save()
    config.write(made)
    return made


def test_both_pipelines_of_nova_have_the_filter_behind_keystonecontext(layout):
    paste = configparser.ConfigParser(strict=False)
    paste.read(layout.etc / 'api-paste.ini')
    for name in (
        'openstack_compute_api_v21',
        'openstack_compute_api_v21_legacy_v2_compatible',
    ):
        pipeline = paste[f'composite:{name}']['keystone'].split()
        behind = pipeline.index('keystonecontext') + 1
        assert pipeline[behind] == 'reservations'
    assert 'filter:reservations' in paste


def test_a_paste_file_without_both_pipelines_is_an_error():
    with pytest.raises(RuntimeError, match='0 pipelines'):
        config.with_reservations('[composite:other]\nkeystone = app\n')


def test_an_option_may_be_given_several_times(layout):
    conf = cfg.ConfigOpts()
    conf.register_opt(
        cfg.MultiStrOpt('available_filters'), group='filter_scheduler'
    )
    conf([], default_config_files=[layout.etc / 'nova.conf'])
    assert len(conf.filter_scheduler.available_filters) > 1


def test_other_processes_have_the_same_layout(layout):
    assert lo.Layout.load(layout.directory) == layout
