# SPDX-License-Identifier: Apache-2.0
"""The endpoint of the lease API."""

import argparse

from osc_nova_reservations import plugin


def test_the_endpoint_is_the_one_in_the_catalog(instance):
    instance.catalog['reservation'] = 'http://leases/v1'
    assert plugin.make_client(instance).get_endpoint() == 'http://leases/v1'


def test_the_endpoint_is_below_that_of_compute_without_one_in_the_catalog(
    instance,
):
    expected = 'http://api/v2.1/os-reservations/v1'
    assert plugin.make_client(instance).get_endpoint() == expected
    instance.catalog['compute'] += '/'
    assert plugin.make_client(instance).get_endpoint() == expected


def test_the_endpoint_is_left_to_the_session_without_a_catalog(instance):
    instance.catalog.clear()
    assert plugin.make_client(instance).endpoint_override is None


def test_the_version_of_the_api_is_an_option():
    parser = plugin.build_option_parser(argparse.ArgumentParser())
    assert parser.parse_args([]).os_lease_api_version == '1'
