# SPDX-License-Identifier: Apache-2.0
"""``nova-reservations-manage``: the database, the hosts, metrics, an audit.

All commands may be repeated: they leave alone what is done already.
"""

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
import datetime
import json
import sys
import time
from typing import Any

import nova.conf
from oslo_config import cfg

from nova_reservations import bootstrap
from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.cloud import time_limits
from nova_reservations.cmd import demand_replay
from nova_reservations.cmd import host_list
from nova_reservations.cmd import host_maintenance
from nova_reservations.cmd import metrics
from nova_reservations.cmd import parsers
from nova_reservations.cmd import process
from nova_reservations.cmd import purge
from nova_reservations.cmd import resource_commands
from nova_reservations.db import migration
from nova_reservations.engine import assembly
from nova_reservations.engine.healing import mass_failure
from nova_reservations.types import audited

PAUSE = 5
"""Seconds between two runs of an audit, or two checks of a waiting host."""

PATIENCE = datetime.timedelta(seconds=10)
"""The time beyond build_wait after which waiting for a host is given up."""


_ON_TABLES = frozenset({'audit', 'demand', 'heal', 'host', 'resource'})
"""Commands that need the tables of the database."""


def main() -> int:
    conf = nova.conf.CONF
    with process.reporting(conf, exit_code=1):
        conf.register_cli_opt(COMMAND)
        process.start(conf)
        return run(conf, bootstrap.build(conf))


def run(conf: cfg.ConfigOpts, services: assembly.Services) -> int:
    """Run the command of the command line; return the exit code.

    :raises: SchemaTooOld, and any ReservationsError
    """
    is_purge = conf.command.name == 'db' and conf.command.action == 'purge'
    if is_purge or conf.command.name in _ON_TABLES:
        migration.check(services.database)
    return conf.command.act(services, conf.command)


def _add_parsers(commands: Any) -> None:
    database = parsers.group(commands, 'db', 'the tables of reservations')
    for name, text, act in (
        ('sync', 'bring them to what this code needs', _db_sync),
        ('version', 'print their revision', _db_version),
    ):
        parsers.add_format(parsers.command(database, name, text, act))
    purge.add_parser(database)

    _add_host_parsers(commands)
    resources = parsers.group(
        commands, 'resource', 'what can be leased beside hosts'
    )
    resource_commands.add_parsers(resources)
    heal = parsers.command(
        commands,
        'heal',
        'move leases off hosts that failed with many others of their cell, '
        'for these hosts are lost, and will not come back soon',
        _heal,
    )
    heal.add_argument(
        'names',
        nargs='*',
        metavar='ID|NAME',
        help='number, service host or hypervisor hostname of an enrolled '
        'host; without any: all hosts that are not healed for that reason',
    )
    parsers.add_format(heal)
    demand = parsers.group(commands, 'demand', 'leases that were refused')
    demand_replay.add_parser(demand)
    metrics.add_parser(commands)
    look = parsers.command(
        commands,
        'audit',
        'report errors of leases and hosts in the database, in Nova, '
        'placement, Neutron, Cinder and Heat; exit 1 if there are any',
        _audit,
    )
    parsers.add_format(look)
    look.add_argument(
        '--repair',
        action='store_true',
        help='repair the errors, as far as possible; exit 1 if any is left',
    )


def _add_host_parsers(commands: Any) -> None:
    hosts = parsers.group(commands, 'host', 'the hosts that can be leased')
    listing = parsers.command(hosts, 'list', 'list them', host_list.show)
    parsers.add_format(listing)
    host_maintenance.add_parsers(hosts)
    add = parsers.command(
        hosts,
        'add',
        'enroll empty compute hosts; repair those that are enrolled',
        _host_add,
    )
    add.add_argument(
        'names',
        nargs='+',
        metavar='NAME',
        help='service host, hypervisor hostname, or UUID of the compute node',
    )
    parsers.add_properties(add)
    add.add_argument(
        '--wait',
        action='store_true',
        help='return when they are reservable; exit 1 if one is not after '
        '[reservations] build_wait',
    )
    parsers.add_format(add)
    remove = parsers.command(
        hosts, 'remove', 'open hosts to everybody again', _host_remove
    )
    parsers.add_hosts(remove)
    parsers.add_format(remove)


COMMAND = cfg.SubCommandOpt(
    'command', title='Commands', handler=_add_parsers, help='what to do'
)


def _db_sync(services: assembly.Services, arguments: Any) -> int:
    # A table is changed in as long as it takes to copy its rows.
    with time_limits.limited_to(None):
        before = migration.version(services.database)
        migration.sync(services.database)
        after = migration.version(services.database)
    if arguments.format == 'json':
        print(json.dumps({'revision': after, 'was': before}))
        return 0
    print(
        f'The tables are at revision {after}'
        + (f'; they were at {before or "none"}' if before != after else '')
    )
    return 0


def _db_version(services: assembly.Services, arguments: Any) -> int:
    version = migration.version(services.database)
    if arguments.format == 'json':
        print(json.dumps({'revision': version, 'needed': migration.head()}))
    else:
        print(version or 'no tables')
    return 0


def _audit(services: assembly.Services, arguments: Any) -> int:
    # Check the clock: by a wrong one, leases would wrongly be reported as
    # late.
    services.clock.now()
    auditor = services.audit
    found = auditor.lasting(lambda: time.sleep(PAUSE))
    report: dict[str, list[str]] = {}
    _report(arguments, report, 'found', found)
    if found and arguments.repair:
        for finding in found:
            _repair(finding)
        found = auditor.lasting(lambda: time.sleep(PAUSE))
        if arguments.format == 'text':
            print('Left:' if found else 'All of it is repaired')
        _report(arguments, report, 'left', found)
    if arguments.format == 'json':
        print(json.dumps(report))
    return 1 if found else 0


def _report(
    arguments: Any,
    report: dict[str, list[str]],
    name: str,
    findings: Sequence[audited.Finding],
) -> None:
    """Print problems as text, or collect them for the JSON object."""
    report[name] = [finding.problem for finding in findings]
    if arguments.format == 'text':
        for problem in report[name]:
            print(problem)


def _repair(finding: audited.Finding) -> None:
    if finding.repair is None:
        return
    try:
        finding.repair()
    except exception.ReservationsError as error:
        print(f'{finding.problem}: {error}', file=sys.stderr)


def _host_add(services: assembly.Services, arguments: Any) -> int:
    properties = dict(arguments.properties)
    waiting: list[objects.Host] = []
    exit_code = _each(
        arguments,
        lambda name: _enrol(services, name, properties, waiting),
    )
    if arguments.wait:
        for host in waiting:
            exit_code |= _wait_for(services, host, arguments.format)
    return exit_code


def _wait_for(
    services: assembly.Services, host: objects.Host, form: str
) -> int:
    """Wait for a host to be reservable; return the exit code."""
    patience = services.means.options.build_wait
    deadline = services.clock.now() + patience + PATIENCE
    while not host.reservable and services.clock.now() < deadline:
        time.sleep(PAUSE)
        # Do it here, because there may be no nova-scheduler that does.
        services.hosts.enrolment.complete_all(services.clock.now())
        host = services.hosts.get(host.id)
    name = host.facts.service_host
    if host.reservable:
        if form == 'text':
            print(f'Host {name} is reservable, as host {host.id}')
        return 0
    print(f'{name}: not reservable yet. {host.status_reason}', file=sys.stderr)
    return 1


def _enrol(
    services: assembly.Services,
    name: str,
    properties: Mapping[str, str],
    waiting: list[objects.Host],
) -> str:
    """Enrol a host; return the message for the operator.

    :param waiting: the host is added to it if it is not reservable yet
    """
    now = services.clock.now()
    try:
        host = services.hosts.enrolment.enrol(name, properties, now)
    except exception.AlreadyEnrolled as error:
        host_id = error.values['id']
        services.hosts.enrolment.restore_marks(host_id)
        if properties:
            services.hosts.update(host_id, properties, now)
        return str(error)
    if not host.reservable:
        waiting.append(host)
        return (
            f'Host {host.facts.service_host} is closed, as host {host.id}, '
            f'and not reservable yet. {host.status_reason}'
        )
    return f'Host {host.facts.service_host} is enrolled, as host {host.id}'


def _host_remove(services: assembly.Services, arguments: Any) -> int:
    return _each(arguments, lambda name: _remove(services, name))


def _remove(services: assembly.Services, name: str) -> str:
    host = parsers.host(services, name)
    services.hosts.enrolment.remove(host.id, services.database.now())
    return f'Host {host.facts.service_host} is no longer enrolled'


def _heal(services: assembly.Services, arguments: Any) -> int:
    names = {
        parsers.host(services, name).resource.name for name in arguments.names
    }
    released = mass_failure.release(
        services.database, objects.HOST, names, services.clock.now()
    )
    others = sorted(names.difference(released))
    if arguments.format == 'json':
        print(
            json.dumps({'healed': sorted(released), 'nothing_to_do': others})
        )
        return 0
    for name in released:
        print(f'Leases of host {name} are healed now')
    for name in others:
        print(f'Host {name} has not failed with many others: nothing to do')
    if not arguments.names and not released:
        print('No hosts have failed with many others: nothing to do')
    return 0


def _each(arguments: Any, act: Callable[[str], str]) -> int:
    """Act on each name, even if others fail; return the exit code."""
    said: list[dict[str, str]] = []
    for name in arguments.names:
        try:
            said.append({'name': name, 'done': act(name)})
        except (
            exception.CloudUnavailable,
            exception.CloudRefused,
        ) as error:
            why = (
                f'{error}. This may be done half-way: repeat it when the '
                'cause is gone.'
            )
            said.append({'name': name, 'error': why})
        except exception.ReservationsError as error:
            said.append({'name': name, 'error': str(error)})
        if arguments.format == 'text':
            _say(said[-1])
    if arguments.format == 'json':
        print(json.dumps(said))
    return 1 if any('error' in each for each in said) else 0


def _say(said: Mapping[str, str]) -> None:
    if 'error' in said:
        print(f'{said["name"]}: {said["error"]}', file=sys.stderr)
    else:
        print(said['done'])
