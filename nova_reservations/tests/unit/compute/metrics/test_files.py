# SPDX-License-Identifier: Apache-2.0
import logging

from nova_reservations.compute.metrics import files
from nova_reservations.tests.unit.compute.metrics import builders

GROUP = '[metrics_plugins]\n'


def test_a_change_is_noticed_once_and_obeyed(tmp_path):
    file = tmp_path / 'nova.conf'
    file.write_text(f'{GROUP}interval = 5\n')
    conf = builders.make_conf(file)
    watched = files.Files(conf)
    assert not watched.reload()
    file.write_text(f'{GROUP}interval = 17\n')
    assert watched.reload()
    assert conf.metrics_plugins.interval == 17
    assert not watched.reload()


def test_a_file_that_is_replaced_is_noticed(tmp_path):
    """Editors write a new file, and rename it to the old name."""
    file, other = tmp_path / 'nova.conf', tmp_path / 'new'
    file.write_text(f'{GROUP}interval = 5\n')
    conf = builders.make_conf(file)
    watched = files.Files(conf)
    other.write_text(f'{GROUP}interval = 7\n')
    other.replace(file)
    assert watched.reload()
    assert conf.metrics_plugins.interval == 7


def test_a_file_that_is_broken_changes_nothing(tmp_path, caplog):
    file = tmp_path / 'nova.conf'
    file.write_text(f'{GROUP}interval = 5\n')
    conf = builders.make_conf(file)
    watched = files.Files(conf)
    file.write_text('interval\n  = [[[')
    caplog.set_level(logging.ERROR)
    assert not watched.reload()
    assert conf.metrics_plugins.interval == 5
    assert 'The configuration stays as it was' in caplog.text
    file.write_text(f'{GROUP}interval = 6\n')
    assert watched.reload()
    assert conf.metrics_plugins.interval == 6


def test_a_value_that_is_out_of_bounds_changes_nothing(tmp_path):
    file = tmp_path / 'nova.conf'
    file.write_text(f'{GROUP}interval = 5\n')
    conf = builders.make_conf(file)
    watched = files.Files(conf)
    file.write_text(f'{GROUP}interval = 0\n')
    watched.reload()
    assert conf.metrics_plugins.interval == 5


def test_a_file_that_is_away_for_a_moment_is_no_end(tmp_path):
    file = tmp_path / 'nova.conf'
    file.write_text(f'{GROUP}interval = 5\n')
    conf = builders.make_conf(file)
    watched = files.Files(conf)
    file.unlink()
    watched.reload()
    assert conf.metrics_plugins.interval == 5
    file.write_text(f'{GROUP}interval = 8\n')
    assert watched.reload()
    assert conf.metrics_plugins.interval == 8
