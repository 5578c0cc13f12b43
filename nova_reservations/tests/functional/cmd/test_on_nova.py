# SPDX-License-Identifier: Apache-2.0
"""The commands on a real Nova."""

import contextlib
import io
from typing import Any

from oslo_config import cfg

from nova_reservations.cloud.placement import placement
from nova_reservations.cmd import manage
from nova_reservations.cmd import status
from nova_reservations.tests.functional.nova import base
from nova_reservations.tests.functional.nova import shared


class CommandTest(shared.SharedNova):
    def manage(self, *words: str) -> tuple[int, str]:
        """Return the exit code, and all output on stdout and stderr."""
        opts = cfg.ConfigOpts()
        opts.register_cli_opt(manage.COMMAND)
        opts(list(words), default_config_files=[])
        printed = io.StringIO()
        with (
            contextlib.redirect_stdout(printed),
            contextlib.redirect_stderr(printed),
        ):
            exit_code = manage.run(opts, self.services)
        return exit_code, printed.getvalue()

    def findings(self) -> dict[str, str]:
        """Return check -> its details, for checks that do not succeed."""
        checks = status.Checks(base.CONF, self.services)
        results = {
            name: check(checks) for name, check in checks._upgrade_checks
        }
        return {
            name: result.details
            for name, result in results.items()
            if result.code != status.Code.SUCCESS
        }

    def pool(self) -> dict[str, Any]:
        answer = self.admin_api.api_get('/os-aggregates')
        [pool] = answer.body['aggregates']
        return pool

    def test_a_right_installation_is_all_green(self):
        self.flags(send_service_user_token=True, group='service_user')
        self.stub_out(
            'nova_reservations.cloud.credentials.context', lambda: None
        )
        self.assertEqual({}, self.findings())
        self.manage('host', 'add', 'host1')
        self.assertEqual({}, self.findings())

    def test_conductors_that_are_not_guarded_are_found(self):
        """Nova's fixture has started them without our guard."""
        self.flags(conductors_guarded=True, group='reservations')
        said = self.findings()['nova-conductors']
        self.assertIn('is not guarded, or older', said)
        self.assertNotIn('does not answer', said)

    def test_hosts_come_and_go(self):
        exit_code, said = self.manage('host', 'add', 'host1', 'host2')
        self.assertEqual(0, exit_code, said)
        self.assertEqual('freepool', self.pool()['name'])
        self.assertEqual(['host1', 'host2'], self.pool()['hosts'])
        self.assertEqual('host3', self.host_of(self.boot()))
        _, listed = self.manage('host', 'list')
        self.assertIn('host2', listed)
        exit_code, said = self.manage('host', 'remove', 'host1', 'host2')
        self.assertEqual(0, exit_code, said)
        self.assertEqual([], self.pool()['hosts'])
        self.boot(host='host1')

    def test_a_host_with_a_server_is_refused_and_stays_as_it_was(self):
        server = self.boot(host='host1')
        exit_code, said = self.manage('host', 'add', 'host1')
        self.assertEqual(1, exit_code)
        self.assertIn(server['id'], said)
        self.boot(host='host1')
        self.assertNotIn('Enrolled hosts', self.findings())

    def test_traits_and_members_that_others_broke_are_found_and_mended(self):
        self.manage('host', 'add', 'host1', 'host2')
        uuids = {
            host: self._get_provider_uuid_by_host(host) for host in self.hosts
        }
        placement.set_trait(uuids['host1'], present=False)
        placement.set_trait(uuids['host3'], present=True)
        self.admin_api.api_post(
            f'/os-aggregates/{self.pool()["id"]}/action',
            {'remove_host': {'host': 'host2'}},
        )
        said = self.findings()['Enrolled hosts']
        self.assertIn('Host host1 lacks the trait', said)
        self.assertIn('Host host2 is not in the aggregate', said)
        self.assertIn(uuids['host3'], said)
        exit_code, said = self.manage(
            'host', 'add', 'host1', 'host2', uuids['host3']
        )
        self.assertEqual(0, exit_code, said)
        self.assertNotIn('Enrolled hosts', self.findings())

    def test_a_member_that_only_nova_has_is_found(self):
        self.manage('host', 'add', 'host1')
        uuid = self._get_provider_uuid_by_host('host1')
        placement.set_member(uuid, self.pool()['uuid'], present=False)
        self.assertIn(
            'Host host1 is not in the aggregate',
            self.findings()['Enrolled hosts'],
        )
        self.manage('host', 'add', 'host1')
        self.assertNotIn('Enrolled hosts', self.findings())

    def test_an_availability_zone_on_the_pool_is_found(self):
        self.manage('host', 'add', 'host1')
        self.admin_api.api_post(
            f'/os-aggregates/{self.pool()["id"]}/action',
            {'set_metadata': {'metadata': {'availability_zone': 'az1'}}},
        )
        self.assertIn('availability zone', self.findings()['Enrolled hosts'])
