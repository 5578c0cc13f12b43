# SPDX-License-Identifier: Apache-2.0
"""Mistakes that keep nova-scheduler from starting."""

import importlib

import fixtures
from nova.scheduler import request_filter

from nova_reservations import exception
from nova_reservations.scheduler import request_filter as reserved_hosts
from nova_reservations.tests.functional.nova import base


class StartTest(base.NovaTestCase):
    hosts = ()

    def setUp(self):
        super().setUp()
        # Nova's configuration has it import this module.
        self.host_filter = importlib.import_module(
            'nova_reservations.scheduler.host_filter'
        )

    def test_a_scheduler_with_an_older_schema_does_not_start(self):
        directory = self.useFixture(fixtures.TempDir()).path
        self.flags(
            connection=f'sqlite:///{directory}/empty.db', group='reservations'
        )
        refusal = self.assertRaises(
            exception.SchemaTooOld, self.host_filter.ReservationFilter
        )
        self.assertIn('nova-reservations-manage db sync', str(refusal))

    def test_a_scheduler_with_half_of_the_configuration_does_not_start(self):
        self.flags(enabled_filters=['ComputeFilter'], group='filter_scheduler')
        self.assertRaises(
            exception.FilterNotEnabled, self.host_filter._check_enabled
        )

    def test_a_new_manager_has_its_own_request_filter_once(self):
        self.host_filter.ReservationFilter()
        self.assertEqual(
            1,
            [
                type(known) for known in request_filter.ALL_REQUEST_FILTERS
            ].count(reserved_hosts.ReservedHosts),
        )
