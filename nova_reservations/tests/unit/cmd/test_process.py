# SPDX-License-Identifier: Apache-2.0
from importlib import metadata

import nova.conf
import pytest

from nova_reservations.cmd import process


@pytest.mark.parametrize(
    'command', ['nova-reservations-manage', 'nova-reservations-status']
)
def test_a_command_says_its_own_version(monkeypatch, capsys, command):
    monkeypatch.setattr('sys.argv', [command, '--version'])
    with pytest.raises(SystemExit) as end:
        process.start(nova.conf.CONF)
    assert not end.value.code
    version = metadata.version('nova-reservations')
    assert capsys.readouterr().out == f'{version}\n'
