# SPDX-License-Identifier: Apache-2.0
"""The page that ``nova-reservations-manage metrics`` prints or writes."""

from prometheus_client import parser

from nova_reservations.engine.upkeep import service_metrics

PREFIX = service_metrics.PREFIX


def samples(text):
    return {
        (
            sample.name.removeprefix(PREFIX),
            *sample.labels.values(),
        ): sample.value
        for family in parser.text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_all_metrics_are_printed(controller):
    controller.manage('host', 'add', 'h1', 'h2')
    controller.manage('host', 'cordon', 'h2')
    answer = controller.manage('metrics')
    assert answer.exit_code == 0
    found = samples(answer.out)
    assert {name for name, *_ in found} == {
        metric.name
        for metric in service_metrics.METRICS
        # Metrics by project have no samples here.
        if 'project_id' not in metric.labels
    }
    assert found['hosts',] == 2
    assert found['hosts_bookable',] == 1
    assert found['hosts_held', 'cordoned'] == 1
    assert found['hosts_free', '30'] == 1
    assert found['schema', 'current'] == 1
    assert abs(found['clock_difference_seconds',]) < 60


def test_a_file_for_the_textfile_collector_is_written(controller, tmp_path):
    file = tmp_path / 'reservations.prom'
    answer = controller.manage('metrics', '--textfile', str(file))
    assert (answer.exit_code, answer.out, answer.err) == (0, '', '')
    assert samples(file.read_text())['hosts',] == 0
    assert [path.name for path in tmp_path.glob('*.prom*')] == [file.name]


def test_a_database_that_is_down_leaves_the_file_as_it_was(
    bare_controller, tmp_path
):
    file = tmp_path / 'reservations.prom'
    file.write_text('as it was')
    bare_controller.conf_file.write_text(
        '[reservations]\nconnection = sqlite:////nowhere/r.db\n'
    )
    answer = bare_controller.manage('metrics', '--textfile', str(file))
    assert answer.exit_code == 1
    assert '[reservations] connection' in answer.err
    assert file.read_text() == 'as it was'


def test_tables_that_are_old_are_told_to_prometheus_too(
    bare_controller, tmp_path
):
    file = tmp_path / 'reservations.prom'
    answer = bare_controller.manage('metrics', '--textfile', str(file))
    assert 'nova-reservations-manage db sync' in str(answer.exit_code)
    found = samples(file.read_text())
    assert found.pop(('schema', 'old')) == 1
    assert set(found) == {('schema', 'current'), ('schema', 'newer')}


def test_a_name_that_node_exporter_does_not_read_is_refused(
    controller, tmp_path
):
    file = tmp_path / 'reservations.txt'
    answer = controller.manage('metrics', '--textfile', str(file))
    assert answer.exit_code == 2
    assert '.prom' in answer.err
    assert not file.exists()


def test_a_directory_that_is_not_there_is_told(controller, tmp_path):
    file = tmp_path / 'nowhere' / 'reservations.prom'
    answer = controller.manage('metrics', '--textfile', str(file))
    assert answer.exit_code == 1
    assert 'nowhere' in answer.err
