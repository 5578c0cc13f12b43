# SPDX-License-Identifier: Apache-2.0
"""``nova-reservations-status upgrade check``: checks of the installation.

Like nova-status it exits with 0, 1 (a warning), 2 (a failure) or 255 (the
checks could not run). Each finding says what to do about it.
"""

from collections import Counter
from collections.abc import Callable
import functools
import os
import textwrap
from typing import Any

import nova.conf
from nova.scheduler import host_manager
from oslo_config import cfg
from oslo_upgradecheck import upgradecheck

from nova_reservations import bootstrap
from nova_reservations import exception
from nova_reservations import hooks
from nova_reservations import objects
from nova_reservations.cloud.hosts import node_stats
from nova_reservations.cmd import check_results
from nova_reservations.cmd import limit_check
from nova_reservations.cmd import option_check
from nova_reservations.cmd import option_needs
from nova_reservations.cmd import paste_check
from nova_reservations.cmd import process
from nova_reservations.cmd import service_check
from nova_reservations.db import migration
from nova_reservations.engine import assembly
from nova_reservations.engine import resource_types
from nova_reservations.engine.audit import audit
from nova_reservations.objects import states
from nova_reservations.scheduler.consumers import handler
from nova_reservations.types import checked

Code = upgradecheck.Code
Result = upgradecheck.Result

HOST_FILTERS = (
    'nova.scheduler.filters.all_filters',
    'nova_reservations.scheduler.host_filter.ReservationFilter',
)
RESOURCE_FILTER = 'nova_reservations.scheduler.resource_filter.ResourceFilter'
OUR_FILTERS = 'nova_reservations.scheduler.'
WIDTH = 80


def main() -> int:
    conf = nova.conf.CONF
    with process.reporting(conf, exit_code=255):
        upgradecheck.register_cli_options(conf, Checks(conf))
        process.start(conf)
        # upgradecheck reads --json from there.
        upgradecheck.CONF = conf
        return upgradecheck.run(conf)


def _with_database(check: Callable[['Checks'], Result]) -> Any:
    """Make a check return an error as its result if the database fails."""

    @functools.wraps(check)
    def result(self: 'Checks') -> Result:
        if self.database().code != Code.SUCCESS:
            return Result(
                Code.WARNING, 'Not checked: the database has to work first.'
            )
        try:
            return check(self)
        except exception.ReservationsError as error:
            return Result(
                Code.FAILURE,
                f'{check_results.in_a_line(error)}\nThis command needs in '
                'nova.conf what nova-api and nova-scheduler need.',
            )

    return result


class Checks(upgradecheck.UpgradeCommands):
    """:ivar told: line -> the name of the check that has said it.

    :param services: used in place of services that are built from conf
    """

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        services: assembly.Services | None = None,
    ) -> None:
        self.conf = conf
        self.told: dict[str, str] = {}
        self._given = services
        # Those of all types that are installed: no option must be right yet.
        names = {
            kind.check_name
            for kind in resource_types.installed().values()
            if issubclass(kind, checked.Checked)
        }
        self._upgrade_checks = (
            *self._upgrade_checks,
            *(
                (
                    name,
                    check_results.told_once(
                        name, functools.partial(Checks.types, name=name)
                    ),
                )
                for name in sorted(names)
            ),
        )

    @functools.cached_property
    def services(self) -> assembly.Services:
        return self._given or bootstrap.build(self.conf)

    def nova_version(self) -> Result:
        try:
            for name in ('api', 'scheduler'):
                hooks.check(name)
        except exception.UnsupportedNova as error:
            return Result(
                Code.FAILURE,
                f'{error}. Install a version of nova-reservations that was '
                'made for this Nova.',
            )
        # Only warnings: other machines may have another Nova, or none of our
        # plugins.
        return check_results.of(
            Code.WARNING,
            [
                f'Of nova-{name}, if it is as this Nova: {misfit}'
                for name in ('conductor', 'compute')
                for misfit in hooks.misfits(name)
            ],
        )

    def options(self) -> Result:
        # Combinations are only checked if each option is valid.
        failed = [*option_check.failures(self.conf)] or [
            *option_needs.failures(self.conf)
        ]
        if failed:
            return check_results.of(Code.FAILURE, failed)
        return check_results.of(
            Code.WARNING,
            [
                *option_check.warnings(self.conf),
                *option_needs.warnings(
                    self.conf,
                    self._leasable()
                    if option_needs.names_resources(self.conf)
                    else None,
                ),
            ],
        )

    def other_options(self) -> Result:
        """Check those of other packages, which its processes read, too."""
        return check_results.of(
            Code.FAILURE, option_check.failures_of_others(self.conf)
        )

    def scheduler(self) -> Result:
        group = self.conf.filter_scheduler
        findings = []
        if not {*HOST_FILTERS} <= {*group.available_filters}:
            findings.append(
                'nova-scheduler does not know our filter, or only ours. '
                'Write both lines into [filter_scheduler]:'
            )
            findings += [
                f'  available_filters = {name}' for name in HOST_FILTERS
            ]
        name = HOST_FILTERS[-1].rpartition('.')[-1]
        if name not in group.enabled_filters:
            findings.append(
                'nova-scheduler does not use our filter. Add it to the list '
                'in [filter_scheduler]:'
            )
            findings.append(
                '  enabled_filters = '
                f'{", ".join([*group.enabled_filters, name])}'
            )
        return check_results.of(Code.FAILURE, findings)

    def resources(self) -> Result:
        """Check that everything that scheduler_consumers needs is there."""
        if not self.conf.scheduler_consumers:
            return Result(Code.SUCCESS)
        found = handler.find(self.conf)
        findings = [
            f'[DEFAULT] scheduler_consumers names {name}: {why}'
            for name, why in found.missing.items()
        ]
        if not any(
            name.startswith(OUR_FILTERS)
            for name in self.conf.filter_scheduler.available_filters
        ):
            findings.append(
                'No filter loads the plugins of scheduler_consumers: add to '
                '[filter_scheduler]'
            )
            findings.append(f'  available_filters = {RESOURCE_FILTER}')
        if findings:
            return check_results.of(Code.FAILURE, findings)
        consumers = handler.Consumers(
            consumer(name, self.conf)
            for name, consumer in found.found.items()
            if consumer.reads_stats
        )
        try:
            findings = [
                f'Nothing is known of {name} on host {report.host}: {why_not}'
                for report in node_stats.of_nodes()
                for name, why_not in consumers.look(
                    host_manager.HostState(report.host, report.nodename, None),
                    report.stats,
                )
                if why_not is not None
            ]
        except exception.CloudUnavailable as error:
            return Result(Code.FAILURE, str(error))
        return check_results.of(Code.WARNING, findings)

    def api(self) -> Result:
        name = self.conf.wsgi.api_paste_config
        if 'OS_NOVA_CONFIG_DIR' in os.environ:
            # Then Nova's WSGI application searches this directory only.
            path: str | None = os.path.join(
                os.environ['OS_NOVA_CONFIG_DIR'], name
            )
        else:
            path = name if os.path.isabs(name) else self.conf.find_file(name)
        if path is None:
            return Result(
                Code.FAILURE,
                f'There is no {name} beside nova.conf: set OS_NOVA_CONFIG_DIR '
                'as it is set for nova-api.',
            )
        findings = [*paste_check.failures(path)]
        return check_results.of(
            Code.FAILURE, findings and [f'In {path}:', *findings]
        )

    def database(self) -> Result:
        return self._database

    @functools.cached_property
    def _database(self) -> Result:
        """The check of the database: one that is silent is waited for once,
        not by each check."""
        try:
            migration.check(self.services.database)
        except exception.DatabaseUnavailable as error:
            return Result(
                Code.FAILURE, f'{error}. {process.where_connection(self.conf)}'
            )
        except (
            cfg.Error,
            exception.Misconfigured,
            exception.SchemaTooOld,
        ) as error:
            return Result(Code.FAILURE, str(error))
        return Result(Code.SUCCESS)

    @_with_database
    def pool(self) -> Result:
        findings = [*check_results.of_audit(self._audit.of_pool())]
        return check_results.of(
            Code.FAILURE,
            findings
            and [
                'Add or remove by nova-reservations-manage host add|remove:',
                *findings,
            ],
        )

    @_with_database
    def leases(self) -> Result:
        now = self.services.database.now()
        return check_results.of(
            Code.WARNING,
            check_results.of_audit(
                (
                    *self._audit.of_leases(now),
                    *self._audit.of_aggregates(now),
                    *self._audit.of_slots(now),
                    *self._audit.of_starts(now),
                    *self._audit.of_leftovers(),
                )
            ),
        )

    @_with_database
    def failed_leases(self) -> Result:
        query = objects.LeaseQuery(statuses=(states.Lease.ERROR,))
        findings = [
            f'Lease {lease.id} of project {lease.project_id}: {lease.why}'
            for lease in self.services.lease_lists.find(query)
            if lease.in_nova
        ]
        return check_results.of(
            Code.WARNING,
            findings
            and [
                'These leases are in ERROR and keep what they have until it '
                'is free of what the reason names. A worker tries each '
                'minute:',
                *findings,
            ],
        )

    @_with_database
    def clocks(self) -> Result:
        try:
            self.services.clock.now()
        except exception.ClocksDisagree as error:
            return Result(
                Code.FAILURE,
                f'{error}. Where a nova-scheduler finds the same, it neither '
                'starts nor ends leases.',
            )
        return Result(Code.SUCCESS)

    @_with_database
    def mass_failure(self) -> Result:
        held = sorted(
            host.facts.service_host
            for host in self.services.hosts.find(objects.HostQuery())
            if host.braked_at is not None
        )
        return check_results.of(
            Code.WARNING,
            held
            and [
                'Many hosts of a cell have failed at once, and their leases '
                'are not healed. If the hosts are lost: '
                'nova-reservations-manage heal',
                *held,
            ],
        )

    @_with_database
    def uninstalling(self) -> Result:
        """Report, always with success, what would be open to everybody without
        the extension."""
        hosts = sum(
            host.role == states.Role.POOL
            for host in self.services.hosts.find(objects.HostQuery())
        )
        leases = Counter(
            lease.status
            for lease in self.services.lease_lists.find(objects.LeaseQuery())
            if lease.status in states.OPEN or lease.in_nova
        )
        if not hosts and not leases:
            return Result(Code.SUCCESS)
        counts = [f'{count} {status}' for status, count in leases.items()]
        return Result(
            Code.SUCCESS,
            f'Without the extension, {hosts} enrolled hosts are open to '
            'everybody. Delete all leases first '
            f'({", ".join(sorted(counts)) or "there are none"}), then remove '
            'the hosts.',
        )

    def service_user(self) -> Result:
        if not self.conf.service_user.send_service_user_token:
            return Result(
                Code.WARNING,
                'Nova has no token of its own for what it does to servers of '
                'leases: set send_service_user_token = true and credentials '
                'in [service_user] of nova.conf.',
            )
        return check_results.of(Code.FAILURE, service_check.token_failures())

    @_with_database
    def names(self) -> Result:
        """Check that what nova.conf names is there."""
        return check_results.of(
            Code.WARNING,
            service_check.name_warnings(
                self.services.means.options,
                self.conf.reservations.region_name,
                self.services.hosts.cloud,
            ),
        )

    def bus(self) -> Result:
        return check_results.of(Code.FAILURE, service_check.bus_failures())

    def conductors(self) -> Result:
        """Ask each whether it is guarded, if all are said to be."""
        if not self.conf.reservations.conductors_guarded:
            return Result(Code.SUCCESS)
        return check_results.of(
            Code.FAILURE, service_check.conductor_failures()
        )

    def types(self, name: str) -> Result:
        """Check what resource types need of their services.

        :param name: the check_name of the types
        """
        kinds = [
            kind
            for kind in self.services.hosts.types.able(
                checked.Checked  # type: ignore[type-abstract]
            )
            if kind.check_name == name
        ]
        # Types of one service may fail for the same reason.
        failed = {line for kind in kinds for line in kind.setup_failures()}
        if failed:
            return check_results.of(Code.FAILURE, sorted(failed))
        warned = {line for kind in kinds for line in kind.setup_warnings()}
        return check_results.of(Code.WARNING, sorted(warned))

    def limits(self) -> Result:
        """Check keystone's limits, if these are used."""
        if self.options().code == Code.FAILURE:
            return Result(
                Code.WARNING, 'Not checked: [reservations] has to be right.'
            )
        failed = [*limit_check.failures(self.conf)]
        if failed:
            return check_results.of(Code.FAILURE, failed)
        return check_results.of(
            Code.WARNING, limit_check.warnings(self.conf, self._leasable)
        )

    def _leasable(self) -> limit_check.Leasable | None:
        """Return the resource types that can be leased here -> the classes of
        their resources, which are left out for hosts; None if the database
        can't be read."""
        if self.database().code != Code.SUCCESS:
            return None
        types = self.services.means.types.of_resources()
        return {
            resource_type: frozenset()
            if resource_type == objects.HOST
            else {
                name
                for resource in self.services.resources.find(
                    objects.ResourceQuery(resource_type)
                )
                for name in resource.inventories
            }
            for resource_type in types
        }

    @functools.cached_property
    def _audit(self) -> audit.Audit:
        return self.services.audit

    def _get_details(self, result: Result) -> str | None:
        """Wrap each line by itself; the original would join all lines."""
        if result.details is None:
            return None
        return '\n'.join(
            textwrap.fill(
                line,
                WIDTH,
                subsequent_indent='  ',
                break_long_words=False,
                break_on_hyphens=False,
            )
            for line in result.details.splitlines()
        )

    _upgrade_checks = tuple(
        (name, check_results.told_once(name, check))
        for name, check in (
            ('Nova version', nova_version),
            ('nova.conf: scheduler', scheduler),
            ('nova.conf: reservations', options),
            ('nova.conf: other options', other_options),
            ('Resource plugins', resources),
            ('api-paste.ini', api),
            ('Database', database),
            ('Enrolled hosts', pool),
            ('Leases', leases),
            ('Failed leases', failed_leases),
            ('Clocks', clocks),
            ('Mass failure', mass_failure),
            ('Before uninstalling', uninstalling),
            ('Service user token', service_user),
            ('Aggregate and region', names),
            ('Message bus', bus),
            ('nova-conductors', conductors),
            ('Limits in keystone', limits),
        )
    )
