# SPDX-License-Identifier: Apache-2.0
"""Services of OpenStack that tests run in processes of their own."""

from collections.abc import Iterator
import contextlib
import pathlib
import socket
import subprocess
import sys

_ROOT = pathlib.Path(__file__).parents[3]


@contextlib.contextmanager
def running(name: str, folder: pathlib.Path) -> Iterator[str]:
    """Run the module ``<name>_process`` beside this one, and give its URL.

    :param folder: the folder for its files and its log
    """
    with socket.socket() as listener:
        listener.bind(('127.0.0.1', 0))
        listener.listen()
        with (folder / f'{name}.log').open('wb') as log:
            process = subprocess.Popen(
                [
                    *(sys.executable, '-m', f'{__package__}.{name}_process'),
                    *(str(folder), str(listener.fileno())),
                ],
                pass_fds=[listener.fileno()],
                cwd=_ROOT,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        url = f'http://127.0.0.1:{listener.getsockname()[1]}'
    try:
        yield url
    finally:
        process.kill()
        process.wait()
