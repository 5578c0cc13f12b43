# SPDX-License-Identifier: Apache-2.0
"""The plugin that python-openstackclient loads, by the names it expects."""

import argparse
from typing import Any

from keystoneauth1 import adapter

API_NAME = 'lease'
API_VERSION_OPTION = 'os_lease_api_version'
API_VERSIONS = {'1': 'osc_nova_reservations.plugin'}
DEFAULT_API_VERSION = '1'

SERVICE_TYPE = 'reservation'
# The path of the lease API below the compute endpoint.
PATH = '/os-reservations/v1'


def make_client(instance: Any) -> adapter.Adapter:
    """Return an adapter that sends requests to the lease API.

    The endpoint of type ``reservation`` in the catalog is used. If there is
    none, the API is below the compute endpoint.
    """
    where = {
        'interface': instance.interface,
        'region_name': instance.region_name,
    }
    endpoint = instance.get_endpoint_for_service_type(SERVICE_TYPE, **where)
    if endpoint is None:
        compute = instance.get_endpoint_for_service_type('compute', **where)
        endpoint = compute and compute.rstrip('/') + PATH
    return adapter.Adapter(
        session=instance.session,
        service_type=SERVICE_TYPE,
        endpoint_override=endpoint,
        raise_exc=False,
        **where,
    )


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
