# SPDX-License-Identifier: Apache-2.0
"""Arguments of tools/sandbox that do not go together."""

import sys

import pytest

from sandbox import __main__ as command


@pytest.mark.parametrize(
    ('words', 'said'),
    [
        (
            '--dashboard story host-lease',
            '--dashboard is for a cloud that serves until Ctrl-C: leave out '
            '"story"',
        ),
        (
            '--database-url mysql+pymysql://root@127.0.0.1',
            '--database-url and --transport-url need each other',
        ),
        ('--with horizon', '--with: there is no horizon'),
        ('--cells 2', '--cells needs --database-url and --transport-url'),
    ],
)
def test_arguments_that_do_not_go_together_are_told(
    monkeypatch, capsys, words, said
):
    monkeypatch.setattr(sys, 'argv', ['tools/sandbox', *words.split()])
    with pytest.raises(SystemExit) as exited:
        command.main()
    assert exited.value.code == 2
    assert said in capsys.readouterr().err
