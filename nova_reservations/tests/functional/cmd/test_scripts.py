# SPDX-License-Identifier: Apache-2.0
"""The installed commands, each in a process of its own."""

import pathlib
import subprocess
import sys

import pytest

BIN = pathlib.Path(sys.executable).parent


def typed(
    *words: str, timeout: float | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [BIN / words[0], *words[1:]],
        capture_output=True,
        text=True,
        check=False,
        timeout=timeout,
    )


@pytest.mark.parametrize(
    ('words', 'exit_code'),
    [
        (('nova-reservations-manage', 'db', 'sync'), 1),
        (('nova-reservations-status', 'upgrade', 'check'), 255),
    ],
)
def test_a_missing_nova_conf_is_one_line(tmp_path, words, exit_code):
    command, *rest = words
    missing = f'{tmp_path}/nova.conf'
    answer = typed(command, '--config-file', missing, *rest)
    assert answer.returncode == exit_code
    assert answer.stderr == f'Failed to find some config files: {missing}\n'


def test_a_fresh_controller_is_set_up_and_looked_at(tmp_path):
    conf = tmp_path / 'nova.conf'
    conf.write_text(
        '[DEFAULT]\ntransport_url = fake://\n'
        f'[api_database]\nconnection = sqlite:///{tmp_path}/api.db\n'
    )
    manage = 'nova-reservations-manage', f'--config-file={conf}'
    assert typed(*manage, 'db', 'sync').returncode == 0
    listed = typed(*manage, 'host', 'list')
    assert listed.returncode == 0
    assert not listed.stderr
    assert '| Host |' in listed.stdout
    # Nova's own tables do not exist.
    added = typed(*manage, 'host', 'add', 'h1')
    assert added.returncode == 1
    assert "h1: Nova's database can not be reached" in added.stderr
    assert 'Traceback' not in added.stderr
    looked = typed(
        'nova-reservations-status',
        f'--config-file={conf}',
        'upgrade',
        'check',
        '--json',
    )
    assert looked.returncode == 2
    assert looked.stdout.startswith('{"name": "Upgrade Check Results"')


def test_a_database_of_novas_that_refuses_connections_costs_no_minutes(
    tmp_path,
):
    conf = tmp_path / 'nova.conf'
    conf.write_text(
        '[DEFAULT]\ntransport_url = fake://\n'
        '[api_database]\nconnection = mysql+pymysql://nova@127.0.0.1:1/x\n'
        f'[reservations]\nconnection = sqlite:///{tmp_path}/ours.db\n'
    )
    assert (
        typed(
            'nova-reservations-manage', f'--config-file={conf}', 'db', 'sync'
        ).returncode
        == 0
    )
    looked = typed(
        'nova-reservations-status',
        f'--config-file={conf}',
        'upgrade',
        'check',
        timeout=60,
    )
    assert looked.returncode == 2
    assert looked.stdout.count('Errno 111') == 1
