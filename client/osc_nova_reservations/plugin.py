# SPDX-License-Identifier: Apache-2.0
"""The plugin that python-openstackclient loads, by the names it expects."""

import argparse
from typing import Any

from osc_nova_reservations import sdk
from osc_nova_reservations.sdk import proxy

API_NAME = 'lease'
API_VERSION_OPTION = 'os_lease_api_version'
API_VERSIONS = {'1': 'osc_nova_reservations.plugin'}
DEFAULT_API_VERSION = '1'


def make_client(instance: Any) -> proxy.Proxy:
    """Return the client of the lease API."""
    sdk.install(instance.sdk_connection)
    client: proxy.Proxy = instance.sdk_connection.reservation
    return client


def build_option_parser(
    parser: argparse.ArgumentParser,
) -> argparse.ArgumentParser:
    parser.add_argument(
        '--os-lease-api-version',
        metavar='<lease-api-version>',
        default=DEFAULT_API_VERSION,
        choices=[*API_VERSIONS],
        help='Version of the lease API: %(default)s',
    )
    return parser
