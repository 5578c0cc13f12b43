# SPDX-License-Identifier: Apache-2.0
"""A region's database is backed up, and restored after the cloud has gone
on."""

import copy
import pathlib

import sqlalchemy as sa

_LEFT = (
    'aggregate_hosts',
    'signed',
    'classes',
    'instances',
    'floating_ips',
    'segment_networks',
    'stacks_made',
    'marked',
    'pool',
)


def back_up(region):
    region.database.dispose()
    return _file(region).read_bytes()


def restore(region, backup):
    region.database.dispose()
    _file(region).write_bytes(backup)


def _file(region):
    return pathlib.Path(sa.make_url(region.database.url).database)


def do_all(region):
    """Run all tasks, and all other due work, of the engine."""
    for task in region.services.tasks:
        region.soon(task.name)
    region.work()


def left(region):
    """Return what projects and hosts have in the cloud."""
    volumes = region.cloud.volumes
    return copy.deepcopy(
        {name: getattr(region.cloud, name) for name in _LEFT}
        | {'volumes': volumes.made, 'volume types': volumes.types}
    )


def findings(region):
    return region.services.audit.findings(region.now)


def problems(region):
    return [finding.problem for finding in findings(region)]


def repair(region):
    for finding in findings(region):
        if finding.repair is not None:
            finding.repair()
    region.work()
