# SPDX-License-Identifier: Apache-2.0
"""Plugins that call methods of the cloud itself, as before it had parts."""

from oslo_config import cfg
import pytest

from nova_reservations import cloud


@pytest.fixture
def nova():
    return cloud.NovaCloud(cfg.ConfigOpts())


def test_a_method_without_its_part_works_and_warns(nova):
    with pytest.warns(DeprecationWarning, match='cloud.servers.find_servers'):
        assert nova.find_servers([]) == {}


def test_a_method_by_its_name_of_version_0_1_works_and_warns(nova):
    with pytest.warns(DeprecationWarning, match='cloud.servers.servers_on'):
        assert nova.tenants_of == nova.servers.servers_on


def test_the_cloud_has_no_other_methods(nova):
    with pytest.raises(AttributeError):
        nova.find_nothing  # noqa: B018
