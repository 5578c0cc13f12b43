# SPDX-License-Identifier: Apache-2.0
"""Periodic tasks do not ask more often when there are more hosts or leases."""

import collections
import dataclasses

import pytest
import sqlalchemy as sa

from nova_reservations.db import pages
from nova_reservations.db.resources import drainable_hosts
from nova_reservations.db.resources import hosts as rows
from nova_reservations.engine.record import late_servers
from nova_reservations.engine.upkeep.purge import TASK
from nova_reservations.objects import states
from nova_reservations.testing import fake_cloud
from nova_reservations.testing.region import Factory

# One process makes the fleets for all tests of this module.
pytestmark = pytest.mark.xdist_group('fleet')

FEW, MANY = 20, 240

STATEMENTS_OF_A_PAGE = 3


class Asked:
    """Counts statements to the database, and calls to the cloud."""

    def __init__(self, region):
        self.region = region
        self.statements = []
        self.calls = collections.Counter()
        self._event = (
            region.database.engine(),
            'before_cursor_execute',
            self._note,
        )
        for port in ('hosts', 'aggregates', 'servers', 'slots'):
            self._watch(getattr(region.cloud, port), port)
        sa.event.listen(*self._event)

    def stop(self):
        sa.event.remove(*self._event)

    def _note(self, _connection, _cursor, statement, *_):
        self.statements.append(statement)

    def _watch(self, port, name):
        for method in dir(port):
            if method.startswith('_') or not callable(getattr(port, method)):
                continue
            setattr(port, method, self._counted(port, name, method))

    def _counted(self, port, name, method):
        call = getattr(port, method)

        def counted(*args, **kwargs):
            self.calls[f'{name}.{method}'] += 1
            return call(*args, **kwargs)

        return counted


def fleet(factory, count):
    """Return a region with this many hosts that work, half of them leased, and
    as many drainable hosts."""
    region = factory('first', best_effort_aggregate='drainable')
    add(region, 'pool', count, states.Role.POOL)
    drainable = add(region, 'drainable', count, states.Role.DRAINABLE)
    region.cloud.members = set(drainable)
    for _ in range(count // 4):
        region.lease(minimum=2)
    region.work()
    return region


def add(region, prefix, count, role):
    names = [f'{prefix}-{number:03}' for number in range(count)]
    with region.database.writer() as session:
        for name in names:
            facts = region.cloud.known[name] = fake_cloud.facts(name)
            host_id = rows.insert(session, facts, {}, region.now, role)
            if role == states.Role.POOL:
                rows.set_reservable(session, host_id, True, region.now)
    if role == states.Role.POOL:
        region.cloud.marked.update(names)
        region.cloud.pool.update(names)
    return names


def run_all(region):
    """Run all tasks; return name -> (number of statements, calls)."""
    found = {}
    for task in region.services.tasks:
        asked = Asked(region)
        task.run(region.now)
        found[task.name] = len(asked.statements), dict(asked.calls)
        asked.stop()
    return found


@pytest.fixture(scope='module')
def fleets(tmp_path_factory):
    """A small fleet and a large one."""
    factory = Factory(tmp_path_factory.mktemp('fleets'))
    regions = [fleet(factory, count) for count in (FEW, MANY)]
    for region in regions:
        # This run does the work that the new leases have caused.
        run_all(region)
    yield regions
    factory.close()


def test_where_nothing_changed_many_hosts_are_no_more_to_ask(fleets):
    few, many = map(run_all, fleets)
    # The purge also looks at open records of use, by the hour and in pages.
    (least, calls), (most, same_calls) = few.pop(TASK), many.pop(TASK)
    assert calls == same_calls
    assert most - least <= STATEMENTS_OF_A_PAGE * (MANY // late_servers.PAGE)
    assert few == many


def test_changes_that_do_not_matter_are_read_and_written_in_bulk(fleets):
    """Each server that is built in a lease changes a generation, for
    instance."""
    for region in fleets:
        for name, facts in region.cloud.known.items():
            region.cloud.known[name] = dataclasses.replace(
                facts, provider_generation=facts.provider_generation + 1
            )
    few, many = map(run_all, fleets)
    for task in (rows.REFRESH, drainable_hosts.TASK):
        assert many[task][1] == few[task][1]
        # A page of writes has a statement of its own.
        assert many[task][0] - few[task][0] <= MANY // pages.SIZE
    again = run_all(fleets[1])
    for task in (rows.REFRESH, drainable_hosts.TASK):
        assert again[task][0] < few[task][0]


def test_of_many_hosts_each_has_its_own_generation(fleets):
    _, region = fleets
    for number, (name, facts) in enumerate(region.cloud.known.items()):
        region.cloud.known[name] = dataclasses.replace(
            facts, provider_generation=1000 + number
        )
    # This also runs the tasks of drainable hosts, so that other tests find
    # nothing to do.
    run_all(region)
    with region.database.reader() as session:
        known = rows.marks(session)
    assert {
        uuid: mark.provider_generation for uuid, mark in known.items()
    } == {
        facts.uuid: facts.provider_generation
        for name, facts in region.cloud.known.items()
        if name in region.cloud.marked
    }


def test_a_host_whose_lease_ends_while_it_is_read_is_read_again(region):
    """The first read took the host for empty, as it was leased."""
    lease = region.lease()
    region.work()
    (name,) = region.hosts_of(lease)
    region.cloud.known[name] = dataclasses.replace(
        region.cloud.known[name], provider_generation=1000
    )
    asked, facts = [], region.cloud.hosts.facts

    def facts_and_end(found, as_if_empty=()):
        asked.append(len(as_if_empty))
        told = facts(found, as_if_empty)
        if as_if_empty:
            region.delete(lease)
            region.work()
        return told

    region.cloud.hosts.facts = facts_and_end
    for _ in range(3):
        region.hosts.refresh(region.now)
    assert asked == [1, 0]
