# SPDX-License-Identifier: Apache-2.0
import pathlib
import subprocess
import sys

import nova_reservations

TREE = pathlib.Path(nova_reservations.__file__).parents[1]


def test_the_diagram_in_the_documentation_is_that_of_the_code():
    drawn = subprocess.run(
        [sys.executable, TREE / 'tools/states-diagram'],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    page = TREE / 'doc/source/contributor/states.mmd'
    assert page.read_text() == drawn, 'run tox -e genstates'
