# SPDX-License-Identifier: Apache-2.0
"""A whole Nova with our package installed, in this process, from Nova's own
fixtures.

The engine's loop is off: a test moves the clock, and runs the work that is
due.
"""

from collections.abc import Callable
from collections.abc import Iterator
import contextlib
import datetime
import importlib.util
import pathlib
import sys
from typing import Any
from unittest import mock

import fixtures
from futurist._thread import ThreadWorker
import jsonschema
from keystoneauth1 import access
from keystoneauth1 import exceptions as ks_exc
from keystoneauth1 import fixture as ks_fixture
from nova import context as nova_context
from nova import test as nova_test
import nova.conf
from nova.tests import fixtures as nova_fixtures
from nova.tests.functional import integrated_helpers
from nova.tests.functional.api import client as api_client
from oslo_policy import opts as policy_opts
import pytest

from nova_reservations import bootstrap
from nova_reservations import conf
from nova_reservations import hooks
from nova_reservations import objects
from nova_reservations.cloud import cells
from nova_reservations.cloud import lines
from nova_reservations.db import api
from nova_reservations.db.holdings import allocations
from nova_reservations.engine.booking import lease_requests
from nova_reservations.objects import states
from nova_reservations.testing import template

CONF = nova.conf.CONF

PASTE = pathlib.Path(sys.prefix, 'etc', 'nova', 'api-paste.ini')
FILTER = """
[filter:reservations]
paste.filter_factory = nova_reservations.api.middleware:Reservations.factory
"""

MINE = nova_fixtures.PROJECT_ID
OTHERS = '7e0a9b7c51b34f3ea7a1b5ff2d1b4f0e'


# A stopped service shuts down all executors of its process, from a thread of
# its own. On a busy machine that happens after Nova's fixture has stopped
# preventing it, and then no later test could get an executor. Nova 31 has no
# executors.
if importlib.util.find_spec('nova.thread_pool_factory'):
    from nova import thread_pool_factory

    thread_pool_factory.shutdown_all_executors = lambda: None


_check_schema = jsonschema.Draft202012Validator.check_schema
_checked: dict[int, Any] = {}


def _check_once(schema: Any, *args: Any, **kwargs: Any) -> None:
    if _checked.get(id(schema)) is not schema:
        _check_schema(schema, *args, **kwargs)
        _checked[id(schema)] = schema


# Placement checks its own schemas again with each request.
jsonschema.Draft202012Validator.check_schema = staticmethod(_check_once)


class WithLeases(
    nova_test.TestCase, integrated_helpers.PlacementInstanceHelperMixin
):
    """Adds our services and hooks to any of Nova's test cases.

    :cvar hosts: compute hosts that are there; none is enrolled.

    :cvar far_hosts: those of the hosts that are in the second cell.

    :cvar api_is_ours: False leaves our filter out of nova-api. Requests that
        the filter would refuse then reach the scheduler.
    :ivar now: the time that the databases tell.
    """

    pytestmark = pytest.mark.functional
    compute_driver = 'fake.MediumFakeDriver'
    hosts: tuple[str, ...] = ('host1', 'host2', 'host3')
    far_hosts: tuple[str, ...] = ()
    api_is_ours = True

    def setUp(self) -> None:
        directory = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.now = datetime.datetime.now(datetime.UTC).replace(microsecond=0)
        self._install(directory)
        # Placement's fixture changes this default for the whole process.
        self.addCleanup(
            policy_opts.set_defaults, CONF, enforce_new_defaults=True
        )
        self.hear_all_cells()
        super().setUp()
        # Tests advance the time by up to a month, during which no compute
        # reports. A compute that is to be silent has not reported for a
        # hundred days.
        self.flags(service_down_time=5 * 10**6, report_interval=0)
        for host in self.hosts:
            self.start_in_cell(host)
        self.services = bootstrap.build(CONF)
        self.addCleanup(self.services.database.dispose)
        self.worker = bootstrap.build_worker(CONF, self.services)
        self.addCleanup(self.worker.stop)
        self.others_api = api_client.TestOpenStackClient(
            'fake',
            self.api_fixture.base_url,
            project_id=OTHERS,
            roles=['reader', 'member'],
        )
        self.others_api.microversion = self.microversion
        # Nova's tests have each idle thread look for work a hundred times a
        # second, so that it ends soon. That setting returns when the test
        # ends.
        self.useFixture(
            fixtures.MockPatchObject(ThreadWorker, 'MAX_IDLE_FOR', 0.1)
        )

    def start_in_cell(self, host: str) -> None:
        self._start_compute(host, cell_name=self._cell_of(host))

    def _cell_of(self, host: str) -> str:
        return 'cell2' if host in self.far_hosts else 'cell1'

    @contextlib.contextmanager
    def at(self, host: str) -> Iterator[nova_context.RequestContext]:
        """Yield a context of the cell that the host is in."""
        mapping = self.cell_mappings[self._cell_of(host)]
        context = nova_context.get_admin_context()
        with nova_context.target_cell(context, mapping) as targeted:
            yield targeted

    def hear_all_cells(self) -> None:
        """Forget which cells have not answered. Otherwise these cells would
        not be asked for a while, also in the next test."""
        self.useFixture(
            fixtures.MockPatchObject(cells, '_LINES', lines.Lines())
        )

    def _clear_attrs(self) -> None:
        # pytest deletes the test's method from self, after Nova did.
        method = self.__dict__.pop(self._testMethodName, None)
        super()._clear_attrs()
        if method is not None:
            self.__dict__[self._testMethodName] = method

    def _install(self, directory: pathlib.Path) -> None:
        """Do what an operator does, before any service starts."""
        paste = directory / 'api-paste.ini'
        paste.write_text(
            PASTE.read_text()
            .replace('keystonecontext', 'keystonecontext reservations')
            .replace(
                '[filter:keystonecontext reservations]',
                '[filter:keystonecontext]',
            )
            + FILTER
        )
        conf.register_opts(CONF)
        # A call that waits for a service that was stopped with the test delays
        # the whole run.
        self.flags(long_rpc_timeout=60)
        self.flags(
            api_paste_config=str(paste if self.api_is_ours else PASTE),
            group='wsgi',
        )
        self.flags(
            connection=template.copy_to(directory / 'reservations.db'),
            enable_engine=False,
            # Computes report by the real clock, not by the test's.
            enable_polling_monitor=False,
            group='reservations',
        )
        self.flags(
            available_filters=[
                'nova.scheduler.filters.all_filters',
                'nova_reservations.scheduler.host_filter.ReservationFilter',
            ],
            enabled_filters=[
                *CONF.filter_scheduler.enabled_filters,
                'ReservationFilter',
            ],
            group='filter_scheduler',
        )
        # The check is made now: Nova's fixtures will replace some hooked
        # methods.
        for process in ('api', 'scheduler'):
            hooks.check(process)
        self.useFixture(
            fixtures.MockPatchObject(
                api.Database, 'now', side_effect=lambda: self.now
            )
        )
        self.useFixture(
            fixtures.MockPatchObject(
                bootstrap, 'own_time', side_effect=lambda: self.now
            )
        )

    def trust(self, *roles: str) -> None:
        """Give Nova a service user; keystone's tokens for that user have these
        roles."""
        token = ks_fixture.V3Token(user_id='nova', project_id='service')
        for role in roles:
            token.add_role(name=role)
        self._service_user(
            return_value=access.create(body=token, auth_token='a token')
        )

    def distrust(self) -> None:
        """Make keystone unreachable."""
        self._service_user(side_effect=ks_exc.ConnectFailure('no route'))

    def _service_user(self, **get_access: Any) -> None:
        plugin = mock.Mock(spec=['get_access'])
        plugin.get_access.configure_mock(**get_access)
        self.useFixture(
            fixtures.MonkeyPatch(
                'nova_reservations.cloud.credentials.plugin', lambda: plugin
            )
        )

    # Leases

    def pass_time(self, **duration: float) -> None:
        self.now += datetime.timedelta(**duration)

    def work(self) -> None:
        """Do all that is due now."""
        self.worker.tick(self.now)
        self.worker.drain()

    def look(self) -> None:
        """Let a second pass, and do what the monitors find."""
        self.pass_time(seconds=1)
        self.services.monitoring.poll(self.now)
        self.services.healing.check_replaced(self.now)
        for _ in range(3):
            # The failure is seen, then healed in our database, then in Nova.
            self.work()

    def shown(self, lease: objects.Lease) -> tuple[bool, bool]:
        """Return whether the lease lacks resources, and whether they have
        changed."""
        [reservation] = self.services.leases.get(lease.id).reservations
        return reservation.missing_resources, reservation.resources_changed

    def enrol(self, *hosts: str) -> list[objects.Host]:
        return [
            self.services.hosts.enrolment.enrol(host, {}, self.now)
            for host in hosts
        ]

    def lease(
        self,
        hosts: int = 1,
        *,
        project_id: str = MINE,
        starts_in: datetime.timedelta = datetime.timedelta(0),
        **asked: Any,
    ) -> objects.Lease:
        """Lease hosts for an hour, and start the lease if it begins now."""
        start = self.now + starts_in
        lease = self.services.leases.create(
            lease_requests.NewLease(
                name='lease',
                project_id=project_id,
                user_id='user',
                start=start,
                end=start + datetime.timedelta(hours=1),
                before_end=None,
                reservations=(
                    lease_requests.NewReservation(
                        objects.HOST, {'min': hosts, 'max': hosts, **asked}
                    ),
                ),
            ),
            self.now,
        )
        self.work()
        return self.services.leases.get(lease.id)

    def end(self, lease: objects.Lease) -> objects.Lease:
        """Let the lease's time pass; its servers may still be leaving."""
        self.now = max(self.now, lease.end_date)
        self.work()
        return self.services.leases.get(lease.id)

    def end_completely(self, lease: objects.Lease) -> None:
        def has_ended() -> None:
            self.pass_time(seconds=10)
            self.assertEqual(states.Lease.TERMINATED, self.end(lease).status)

        self._wait_for_assert(has_ended)

    def hosts_of(self, lease: objects.Lease) -> set[str]:
        [reservation] = lease.reservations
        access = self.services.access.find(reservation.id)
        assert access is not None
        return set(access.hosts)

    def resources_of(
        self, lease: objects.Lease
    ) -> tuple[objects.Resource, ...]:
        [reservation] = lease.reservations
        with self.services.database.reader() as session:
            held = allocations.holdings(session, [reservation.id])
        return tuple(one.resource for one in held[reservation.id])

    # Servers

    def post(
        self,
        lease: objects.Lease | None = None,
        *,
        hint: str | None = None,
        api: api_client.TestOpenStackClient | None = None,
        count: int = 1,
        **server: Any,
    ) -> dict[str, Any]:
        """Ask Nova for a server, in the lease if one is given."""
        if lease is not None:
            hint = lease.reservations[0].id
        # Nova's fixture would take the first flavor, which may be that of a
        # reservation.
        server = {'flavor_id': '1', **server}
        body: dict[str, Any] = {
            'server': self._build_server(networks='none', **server)
        }
        if count > 1:
            body['server'] |= {'min_count': count, 'max_count': count}
        if hint is not None:
            body['os:scheduler_hints'] = {'reservation': hint}
        return (api or self.api).post_server(body)

    def boot(
        self, lease: objects.Lease | None = None, **asked: Any
    ) -> dict[str, Any]:
        """Return a server that runs."""
        # A server that is created while another is scheduled also waits for
        # that one.
        return self._wait_for_state_change(
            self.post(lease, **asked), 'ACTIVE', max_retries=60
        )

    def boot_of_volume(
        self, lease: objects.Lease, **asked: Any
    ) -> dict[str, Any]:
        """Return a server that runs, with a volume as its root disk."""
        self.useFixture(nova_fixtures.CinderFixture(self))
        server = self._build_server(image_uuid='', networks='none', **asked)
        server['block_device_mapping_v2'] = [
            {
                'boot_index': 0,
                'source_type': 'volume',
                'destination_type': 'volume',
                'uuid': nova_fixtures.CinderFixture.IMAGE_BACKED_VOL,
            }
        ]
        server = self.api.post_server(
            {
                'server': server,
                'os:scheduler_hints': {
                    'reservation': lease.reservations[0].id
                },
            }
        )
        return self._wait_for_state_change(server, 'ACTIVE')

    def why_not(self, lease: objects.Lease | None = None, **asked: Any) -> str:
        """Return why Nova found no host for a server."""
        return self.fault_of(self.post(lease, **asked))

    def fault_of(self, server: dict[str, Any]) -> str:
        """Return the fault of a server in ERROR. Nova writes the fault a
        moment later than the state."""

        def look() -> str:
            shown = self.api.get_server(server['id'])
            self.assertIn('fault', shown)
            return str(shown['fault']['message'])

        return str(self._wait_for_assert(look, max_retries=60))

    def status_of_refusal(self, call: Callable[..., Any], *args: Any) -> int:
        """Return the status by which nova-api refuses the request."""
        refusal = self.assertRaises(
            api_client.OpenStackApiException, call, *args
        )
        return refusal.response.status_code

    def host_of(self, server: dict[str, Any]) -> str:
        shown = self.admin_api.get_server(server['id'])
        return shown['OS-EXT-SRV-ATTR:host']

    def stop_host(self, host: str) -> None:
        """Stop the nova-compute of the host, and force it down."""
        self.computes[host].stop()
        self.admin_api.put_service_force_down(
            self.computes[host].service_ref.uuid, True
        )

    def aggregates(self) -> dict[str, dict[str, Any]]:
        """Return name -> aggregate, as Nova shows it."""
        shown = self.admin_api.api_get('/os-aggregates').body['aggregates']
        return {aggregate['name']: aggregate for aggregate in shown}


class NovaTestCase(WithLeases, integrated_helpers.ProviderUsageBaseTestCase):
    pass
