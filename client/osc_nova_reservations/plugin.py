# SPDX-License-Identifier: Apache-2.0
"""What python-openstackclient loads; the names here are its own."""

import argparse
from typing import Any

from keystoneauth1 import adapter

API_NAME = 'lease'
API_VERSION_OPTION = 'os_lease_api_version'
API_VERSIONS = {'1': 'osc_nova_reservations.plugin'}
DEFAULT_API_VERSION = '1'

SERVICE = 'reservation'
PATH = '/os-reservations/v1'


def make_client(instance: Any) -> adapter.Adapter:
    """Return what requests of leases are sent with.

    Where the catalog has no entry for reservations, they are where they
    always are: below the compute API.
    """
    where = {
        'interface': instance.interface,
        'region_name': instance.region_name,
    }
    endpoint = instance.get_endpoint_for_service_type(SERVICE, **where)
    if endpoint is None:
        compute = instance.get_endpoint_for_service_type('compute', **where)
        endpoint = compute and compute.rstrip('/') + PATH
    return adapter.Adapter(
        session=instance.session,
        service_type=SERVICE,
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
