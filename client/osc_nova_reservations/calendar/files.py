# SPDX-License-Identifier: Apache-2.0
"""Files that others read, such as a web server, while they are replaced."""

import os
import pathlib
import shutil
from typing import TextIO
import uuid

from osc_lib import exceptions

STDOUT = '-'


def write(file: str, content: bytes, stdout: TextIO) -> None:
    """Write a file as a whole: who reads it meanwhile finds the old one or
    the new one.

    :param file: a path, or - for the standard output
    :raises: CommandError
    """
    if file == STDOUT:
        # The content has an encoding and ends of lines of its own.
        stdout.flush()
        stdout.buffer.write(content)
        stdout.buffer.flush()
        return
    try:
        # A link stays, and what it leads to is replaced.
        _replace(pathlib.Path(file).resolve(), content)
    except OSError as error:
        raise exceptions.CommandError(
            f'{file} could not be written: {error.strerror}'
        ) from error


def _replace(path: pathlib.Path, content: bytes) -> None:
    """:raises: OSError"""
    if path.exists() and not path.is_file():
        # A device or a pipe can't be replaced.
        path.write_bytes(content)
        return
    new = path.with_name(f'.{path.name}.{uuid.uuid4().hex}')
    try:
        with new.open('xb') as opened:
            opened.write(content)
            opened.flush()
            os.fsync(opened.fileno())
        if path.exists():
            shutil.copymode(path, new)
        new.replace(path)
    except BaseException:
        new.unlink(missing_ok=True)
        raise
