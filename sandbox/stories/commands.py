# SPDX-License-Identifier: Apache-2.0
"""The command openstack, as the people of a story run it."""

from collections.abc import Sequence
import errno
import json
import os
import pathlib
import pty
import subprocess
import sys
import tempfile
import termios
from typing import Any

from sandbox import layout as lo
from sandbox import person

_CHECK = pathlib.Path(sys.executable).with_name('nova-reservations-status')
_MANAGE = pathlib.Path(sys.executable).with_name('nova-reservations-manage')
_OPENSTACK = pathlib.Path(sys.executable).with_name('openstack')


def openstack(
    auth_url: str, name: str, *arguments: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [_OPENSTACK, *arguments],
        env=_of_person(auth_url, name),
        capture_output=True,
        text=True,
        check=False,
    )


def at_terminal(
    auth_url: str, name: str, words: Sequence[str], zone: str, columns: int
) -> tuple[int, str, str]:
    """Run openstack at a terminal; return its exit code, what it prints there,
    and what it says beside.

    :param zone: the time zone of the machine.
    """
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (40, columns))
    with tempfile.TemporaryFile('w+') as beside:
        process = subprocess.Popen(
            [_OPENSTACK, *words],
            env=_of_person(auth_url, name) | {'TZ': zone},
            stdin=subprocess.DEVNULL,
            stdout=theirs,
            stderr=beside,
        )
        os.close(theirs)
        printed = _read(ours)
        code = process.wait()
        beside.seek(0)
        return code, printed, beside.read()


def _read(terminal: int) -> str:
    """Return what is printed at a terminal until nobody has it any more."""
    parts = []
    try:
        while part := os.read(terminal, 65536):
            parts.append(part)
    except OSError as error:
        # Linux says so where other systems return nothing.
        if error.errno != errno.EIO:
            raise
    finally:
        os.close(terminal)
    return b''.join(parts).decode().replace('\r\n', '\n')


def _of_person(auth_url: str, name: str) -> dict[str, str]:
    """Return the environment of a user whose name is also the password, and
    the project."""
    return {
        **os.environ,
        'OS_AUTH_URL': auth_url,
        'OS_USERNAME': name,
        'OS_PASSWORD': name,
        'OS_PROJECT_NAME': name,
        'OS_USER_DOMAIN_NAME': 'Default',
        'OS_PROJECT_DOMAIN_NAME': 'Default',
        'OS_IDENTITY_API_VERSION': '3',
    }


def shown_by(auth_url: str, name: str, *words: str, shows: bool = True) -> Any:
    """Run openstack; return what it shows.

    :raises Unexpected: if it fails.
    """
    arguments = [*words, '-f', 'json'] if shows else words
    done = openstack(auth_url, name, *arguments)
    if done.returncode:
        raise person.Unexpected(f'openstack {" ".join(words)}', done.stderr)
    if not shows:
        return None
    # Skip the line "Created a new lease:", if there is one.
    return json.loads(done.stdout.partition(':\n')[2] or done.stdout)


def upgrade_check(etc: pathlib.Path, *more: pathlib.Path) -> str:
    """Return what nova-reservations-status prints.

    :param etc: the folder of nova.conf
    :param more: files whose options count more
    """
    files = [f'--config-file={path}' for path in (etc / 'nova.conf', *more)]
    done = subprocess.run(
        [_CHECK, *files, 'upgrade', 'check'],
        env=_where(etc),
        capture_output=True,
        text=True,
        check=False,
    )
    # Words that were wrapped stand in lines of a table.
    return ' '.join(done.stdout.replace('|', ' ').split()) or done.stderr


def manage(layout: lo.Layout, *words: str) -> subprocess.CompletedProcess[str]:
    """Run nova-reservations-manage with the packages of the sandbox."""
    return subprocess.run(
        [_MANAGE, f'--config-file={layout.etc}/nova.conf', *words],
        env=_where(layout.etc),
        capture_output=True,
        text=True,
        check=False,
    )


def metrics(etc: pathlib.Path, file: pathlib.Path) -> None:
    """Write the metrics to a file.

    :param etc: the folder of nova.conf
    """
    conf = f'--config-file={etc}/nova.conf'
    subprocess.run(
        [_MANAGE, conf, 'metrics', f'--textfile={file}'],
        env=_where(etc),
        check=True,
        capture_output=True,
    )


def audit(etc: pathlib.Path, *options: str) -> str:
    """Return the findings of an audit.

    :param etc: the folder of nova.conf
    """
    done = subprocess.run(
        [_MANAGE, f'--config-file={etc}/nova.conf', 'audit', *options],
        env=_where(etc),
        capture_output=True,
        text=True,
        check=False,
    )
    return (done.stdout + done.stderr).strip()


def _where(etc: pathlib.Path) -> dict[str, str]:
    """Return the environment of commands: the packages of the sandbox, and
    its cache of their entry points."""
    layout = lo.Layout.load(etc.parent)
    return os.environ | {
        'OS_NOVA_CONFIG_DIR': str(layout.etc),
        'PYTHONPATH': str(layout.site),
        'XDG_CACHE_HOME': str(layout.directory / 'cache'),
    }
