# SPDX-License-Identifier: Apache-2.0
"""The server and its client are released together."""

import configparser
import pathlib

_ROOT = pathlib.Path(__file__).parents[3]


def _version(distribution: str) -> str:
    setup = configparser.ConfigParser()
    setup.read(_ROOT / distribution / 'setup.cfg')
    return setup['metadata']['version']


def test_server_and_client_have_one_version() -> None:
    assert _version('.') == _version('client')
