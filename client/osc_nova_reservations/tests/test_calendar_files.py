# SPDX-License-Identifier: Apache-2.0
"""Files that are replaced as a whole."""

import io
import os
import pathlib

from osc_lib import exceptions
import pytest

from osc_nova_reservations.calendar import files


def write(file, content=b'new'):
    files.write(str(file), content, io.TextIOWrapper(io.BytesIO()))


@pytest.fixture
def file(tmp_path):
    file = tmp_path / 'leases.ics'
    file.write_bytes(b'old')
    return file


def names(folder):
    return sorted(each.name for each in folder.iterdir())


def test_a_reader_of_the_old_file_reads_it_to_its_end(file):
    with file.open('rb') as reader:
        write(file)
        assert reader.read() == b'old'
    assert file.read_bytes() == b'new'
    assert names(file.parent) == ['leases.ics']


def test_a_new_file_may_be_read_by_whom_the_umask_says(tmp_path):
    before = os.umask(0o022)
    try:
        write(tmp_path / 'new.ics')
    finally:
        os.umask(before)
    assert (tmp_path / 'new.ics').stat().st_mode & 0o777 == 0o644


def test_a_file_that_is_replaced_keeps_its_mode(file):
    file.chmod(0o640)
    write(file)
    assert file.stat().st_mode & 0o777 == 0o640


def test_a_link_stays_a_link(file):
    link = file.with_name('link.ics')
    link.symlink_to(file)
    write(link)
    assert link.is_symlink()
    assert file.read_bytes() == b'new'


def test_a_pipe_is_not_replaced(tmp_path):
    pipe = tmp_path / 'pipe'
    os.mkfifo(pipe)
    # A reader that does not wait for a writer.
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write(pipe)
        assert os.read(reader, 9) == b'new'
    finally:
        os.close(reader)
    assert pipe.is_fifo()


def test_a_disk_that_is_full_leaves_the_old_file(file, monkeypatch):
    def full(_):
        raise OSError(28, 'No space left on device')

    monkeypatch.setattr(os, 'fsync', full)
    with pytest.raises(
        exceptions.CommandError, match='could not be written: No space left'
    ):
        write(file)
    assert file.read_bytes() == b'old'
    assert names(file.parent) == ['leases.ics']


@pytest.mark.parametrize('where', ['', 'missing/leases.ics'])
def test_a_place_that_is_no_file_is_told(tmp_path, where):
    file = pathlib.Path(tmp_path, where)
    with pytest.raises(exceptions.CommandError, match='could not be written'):
        write(file)
    assert names(tmp_path) == []
