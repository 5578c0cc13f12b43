# SPDX-License-Identifier: Apache-2.0
"""No UPDATE or DELETE of ours reads a table as a whole on MariaDB.

MariaDB locks all rows that a statement reads until the commit, also those that
it does not change: other transactions wait, or deadlock. So each statement is
listed here; the last test fails if one is missing.
"""

import ast
from collections.abc import Callable
from collections.abc import Iterator
import contextlib
import dataclasses
import pathlib
import sys
import types
from typing import Any

from pymysql import cursors
import pytest
import sqlalchemy as sa
from sqlalchemy import orm

from nova_reservations import objects
from nova_reservations.db import api
from nova_reservations.db import models
from nova_reservations.db import tasks
from nova_reservations.db.holdings import allocations
from nova_reservations.db.holdings import cordons as cordon_rows
from nova_reservations.db.holdings import healing
from nova_reservations.db.holdings import project_limits
from nova_reservations.db.holdings import promises
from nova_reservations.db.holdings import slot_servers
from nova_reservations.db.holdings import windows
from nova_reservations.db.holdings import withdrawals
from nova_reservations.db.leases import access
from nova_reservations.db.leases import belongings
from nova_reservations.db.leases import due_leases
from nova_reservations.db.leases import freed_capacity
from nova_reservations.db.leases import idempotency
from nova_reservations.db.leases import leased_servers
from nova_reservations.db.leases import leases
from nova_reservations.db.leases import project_access
from nova_reservations.db.leases import server_failures
from nova_reservations.db.leases import unused
from nova_reservations.db.record import lease_exists
from nova_reservations.db.record import refused_leases
from nova_reservations.db.record import server_usage
from nova_reservations.db.resources import closings
from nova_reservations.db.resources import conditions
from nova_reservations.db.resources import drainable_hosts
from nova_reservations.db.resources import hosts
from nova_reservations.db.resources import properties
from nova_reservations.db.resources import resources
from nova_reservations.db.upkeep import audit
from nova_reservations.db.upkeep import purge
from nova_reservations.objects import states
from nova_reservations.testing import fake_cloud
from nova_reservations.tests import booking
from nova_reservations.tests.functional.db import given
from nova_reservations.tests.functional.db import listed
from nova_reservations.tests.functional.db import parts
from nova_reservations.tests.functional.db import test_indexes
from nova_reservations.tests.functional.db import told
from nova_reservations.tests.functional.db import used

lease_id = listed.lease_id

# One process does the writes, for both tests.
pytestmark = pytest.mark.xdist_group('writes')

MANY = given.MANY

HOSTS = range(1, 301)

NOW = booking.NOW
LATER = booking.at(1000)

WAITING = range(3000, 3050)

KEY = objects.IdempotencyKey('7', 'project-7', '')


def one(session: orm.Session) -> objects.Lease:
    return leases.get(session, lease_id(7))


def many(session: orm.Session) -> dict[str, objects.Lease]:
    """Return as many leases as one thread starts at the same time."""
    ids = [lease_id(number) for number in MANY[:25]]
    return {lease.id: lease for lease in leases.get_all(session, ids)}


def drainable(session: orm.Session) -> drainable_hosts.DrainableHost:
    return drainable_hosts.find(session)[0]


def delete_host(session: orm.Session) -> None:
    theirs = range(249, listed.LEASES, test_indexes.HOSTS // 2)
    windows.release(session, [lease_id(number) for number in theirs], NOW)
    withdrawals.remove_host(session, 500)


def untold(session: orm.Session) -> list[freed_capacity.Freed]:
    """Free much, and return what the leases that wait are not told of."""
    for _ in range(3):
        freed_capacity.freed(session, NOW, HOSTS)
    return freed_capacity.untold(session)


CLOSING = closings.Closing(1, 'attempt')

CONDITION = objects.Condition(down_since=NOW)
HOST_7 = objects.Resource(7, objects.HOST, '7', '7')
OTHER = fake_cloud.facts('other')


OVER = [lease_id(number) for number in range(3000, 3010)]

TOLD = lease_exists.Progress(NOW, None, 0)


WRITES: list[Callable[[orm.Session], object]] = [
    lambda session: access.use(session, lease_id(7), NOW),
    lambda session: unused.mark(session, lease_id(7), NOW),
    lambda session: allocations.advance(session, {1: 0, 2: 0}),
    lambda session: allocations.delete(
        session, lease_id(7), given.held_by(session, 7)
    ),
    lambda session: windows.move(
        session, lease_id(7), booking.window(1, 2), NOW
    ),
    lambda session: windows.release(
        session, [lease_id(number) for number in MANY], NOW
    ),
    lambda session: promises.move(
        session, lease_id(7), min(given.held_by(session, 7)), 450
    ),
    lambda session: audit.wake(session, lease_id(7), NOW),
    lambda session: audit.regather(session, lease_id(7), NOW),
    lambda session: audit.redate(session, lease_id(7), NOW),
    lambda session: closings.forget(
        session, CLOSING, [lease_id(number) for number in MANY]
    ),
    lambda session: closings.end(session, CLOSING),
    lambda session: tasks.hurry(session, healing.HEAL, NOW),
    lambda session: tasks.take(session, healing.HEAL, 0, LATER, LATER, LATER),
    lambda session: tasks.renew(session, healing.HEAL, 0, LATER),
    lambda session: tasks.finish(session, healing.HEAL, 0),
    lambda session: drainable_hosts.fence(
        session, [drainable(session)], lease_id(7), NOW
    ),
    lambda session: drainable_hosts.unfence(
        session, drainable(session).resource.id, lease_id(7), NOW
    ),
    lambda session: drainable_hosts.enrol(
        session, drainable(session).resource.id, NOW
    ),
    lambda session: withdrawals.remove_drainable_host(
        session, drainable(session)
    ),
    lambda session: conditions.set_condition(session, 7, CONDITION, NOW),
    lambda session: conditions.wait_anew(session, HOSTS, NOW),
    lambda session: conditions.set_brake(session, HOSTS, NOW),
    lambda session: healing.mark_unprepared(session, HOSTS, NOW),
    lambda session: healing.give(
        session,
        lease_id(7),
        dict.fromkeys([1, 2, 3], 1),
        None,
        booking.window(1, 2),
        NOW,
        told=True,
    ),
    given.give_other_shares,
    given.give_again,
    lambda session: healing.acknowledge(session, lease_id(7), NOW),
    lambda session: healing.set_flags(
        session, lease_id(7), healing.Flags(True, True), NOW
    ),
    given.take_back,
    given.give_back_early,
    given.vacate_at_the_end,
    given.give_slots_back,
    lambda session: cordon_rows.set_cordoned(session, 7, NOW, NOW),
    lambda session: hosts.set_reservable(session, 7, False, NOW),
    lambda session: hosts.set_facts(session, 7, OTHER, NOW),
    lambda session: hosts.replace(session, HOST_7, OTHER, NOW),
    lambda session: hosts.set_provider_generations(
        session, dict.fromkeys(HOSTS, (8, 'tree'))
    ),
    lambda session: hosts.move_provider_generations(
        session, {str(number): (0, 1) for number in HOSTS}
    ),
    lambda session: resources.change(session, 7, updated_at=NOW),
    lambda session: resources.set_inventories(
        session, 7, {'VCPU': None, 'SEATS': 4}
    ),
    lambda session: properties.assign(
        session, 7, {'rack': '8', 'row': None}, NOW
    ),
    lambda session: properties.set_private(session, 'rack', True, NOW),
    delete_host,
    lambda session: leased_servers.release(
        session, [lease_id(number) for number in MANY], NOW
    ),
    lambda session: server_failures.set_condition(
        session, lease_id(7), objects.Condition(down_since=NOW), NOW
    ),
    lambda session: server_failures.set_braked(
        session, [lease_id(number) for number in MANY], NOW
    ),
    lambda session: leases.change(session, one(session), NOW, name='other'),
    lambda session: leases.activate(
        session, many(session), dict.fromkeys(many(session)), NOW
    ),
    lambda session: leases.delete(session, one(session)),
    lambda session: leases.set_reservations(
        session, lease_id(7), NOW, missing_resources=True
    ),
    lambda session: leases.set_params(
        session, one(session), one(session).reservations[0], NOW
    ),
    lambda session: leases.change(
        session,
        one(session),
        NOW,
        reservations=states.Reservation.DELETED,
        events={states.EventType.END: states.Event.DONE},
    ),
    lambda session: leases.move_event(
        session, one(session).events[0], LATER, NOW
    ),
    lambda session: leases.claim(
        session, lease_id(7), 0, 'worker', LATER, LATER
    ),
    lambda session: due_leases.wake_successors(
        session, [lease_id(7), lease_id(8)], LATER
    ),
    lambda session: due_leases.hurry(
        session, [lease_id(number) for number in MANY], NOW
    ),
    lambda session: leases.renew(session, lease_id(7), 0, NOW),
    lambda session: leases.give_back(session, lease_id(7), 0, 'worker', NOW),
    lambda session: leases.release(session, one(session), NOW),
    lambda session: belongings.give_back(
        session, [lease_id(7), lease_id(8)], NOW
    ),
    lambda session: project_access.remove(session, lease_id(7), ['project-8']),
    lambda session: project_access.set_removed(
        session, lease_id(7), ['project-8'], NOW, NOW
    ),
    lambda session: slot_servers.unrecord(
        session, [lease_id(number) for number in MANY]
    ),
    lambda session: freed_capacity.freed(session, NOW, HOSTS),
    lambda session: freed_capacity.told(session, untold(session), NOW),
    lambda session: freed_capacity.told_some(session, untold(session), 7, NOW),
    lambda session: idempotency.point(session, KEY, lease_id(8)),
    lambda session: idempotency.remove(session, LATER, 7),
    lambda session: refused_leases.remove(session, LATER, 7),
    lambda session: lease_exists.advance(session, TOLD, TOLD),
    lambda session: purge.remove(session, OVER),
    lambda session: purge.remove_deleted(session, booking.at(40), 70),
    lambda session: purge.remove_promises(session, booking.at(40), 70),
    lambda session: purge.remove_records(session, booking.at(60), 70),
    lambda session: project_limits.raise_generation(session, 'project-7'),
    lambda session: cordon_rows.set_emptied(session, 7, NOW, NOW),
    lambda session: cordon_rows.set_stays(
        session, one(session).reservations[0].id, 7, 'why'
    ),
    lambda session: used.settle(
        session, MANY, states.Lease.TERMINATING, LATER
    ),
    lambda session: used.settle(session, MANY, states.Lease.TERMINATING),
    lambda session: server_usage.end(session, [lease_id(10)], LATER),
    *used.WRITES,
    lambda session: used.settle(session, MANY, states.Lease.ACTIVE),
    *parts.WRITES,
    *told.WRITES,
]

FOLDER = pathlib.Path(api.__file__).parent

Place = tuple[str, int]
"""A file, and a line of it."""


@dataclasses.dataclass(frozen=True)
class Write:
    """:ivar places: where our code is that executes it, the innermost first.
    :ivar plan: the output of EXPLAIN for the statement.
    """

    places: list[Place]
    statement: str
    plan: list[dict[str, Any]]

    @property
    def reads_a_whole_table(self) -> bool:
        return any(
            row['type'] in ('ALL', 'index') and row['table'] not in SMALL
            for row in self.plan
        )


SMALL = frozenset(
    {'nr_counters', 'nr_lease_exists', 'nr_properties', 'nr_tasks'}
)
"""Tables of a few rows."""


@pytest.fixture(scope='module')
def writes(tmp_path_factory: pytest.TempPathFactory) -> list[Write]:
    """The statements of all WRITES, each in a transaction that is undone."""
    with test_indexes.filled_database(
        'mysql', tmp_path_factory.mktemp('writes')
    ) as database:
        with database.writer() as session:
            fill(session)
        test_indexes.analyse(database)
        return [
            found
            for number, write in enumerate(WRITES)
            for found in done_by(database, number, write)
        ]


def fill(session: orm.Session) -> None:
    """Add rows that the tests of queries do not need."""
    hosts.insert(
        session, fake_cloud.facts('drainable'), {}, NOW, states.Role.DRAINABLE
    )
    session.execute(
        sa.insert(models.Server),
        [
            {
                'server_uuid': lease_id(number),
                'reservation_id': lease_id(number),
                'created_at': NOW,
            }
            for number in range(listed.LEASES)
        ],
    )
    session.execute(
        sa.insert(models.UnfitHost),
        [
            {
                'lease_id': lease_id(number),
                'resource_id': 1 + number % test_indexes.HOSTS,
                'reason': 'why',
            }
            for number in range(listed.LEASES)
        ],
    )
    session.execute(
        sa.insert(models.Project),
        [
            {'project_id': f'project-{number}', 'generation': 1}
            for number in range(test_indexes.PROJECTS)
        ],
    )
    session.execute(
        sa.insert(models.Closing),
        [{'resource_id': host, 'attempt': 'attempt'} for host in HOSTS],
    )
    session.execute(
        sa.insert(models.AwaitedServer),
        [
            {'resource_id': host, 'server_id': lease_id(number)}
            for host in HOSTS
            for number in (MANY if host == CLOSING.resource_id else range(10))
        ],
    )
    session.execute(
        sa.update(models.Lease)
        .where(models.Lease.id.in_([lease_id(each) for each in WAITING]))
        .values(status=states.Lease.CREATING, arrival=1)
    )
    session.execute(
        sa.update(models.Lease)
        .where(models.Lease.status == states.Lease.ACTIVE)
        .values(in_nova=True)
    )
    session.execute(
        sa.update(models.Lease)
        .where(models.Lease.id.in_(OVER))
        .values(status=states.Lease.TERMINATED, in_nova=False, due_at=None)
    )


def done_by(
    database: api.Database,
    number: int,
    write: Callable[[orm.Session], object],
) -> list[Write]:
    found: list[Write] = []

    def note(connection, _cursor, statement, parameters, _, many) -> None:
        if statement.startswith(('UPDATE', 'DELETE')):
            explain = connection.connection.cursor(cursors.DictCursor)
            first = parameters[0] if many else parameters
            explain.execute(f'EXPLAIN {statement}', first)
            places = list(_places(sys._getframe()))
            found.append(Write(places, statement, explain.fetchall()))

    engine = database.engine()
    sa.event.listen(engine, 'before_cursor_execute', note)
    with contextlib.suppress(_Undone), database.writer() as session:
        write(session)
        raise _Undone
    sa.event.remove(engine, 'before_cursor_execute', note)
    assert found, f'number {number} of WRITES writes nothing'
    return found


class _Undone(Exception):
    pass


def _places(frame: types.FrameType | None) -> Iterator[Place]:
    """Yield the places in our code that execute the statement: what writes may
    do so for its callers."""
    while frame is not None:
        path = pathlib.Path(frame.f_code.co_filename)
        if path.is_relative_to(FOLDER):
            yield path.relative_to(FOLDER).as_posix(), frame.f_lineno
        frame = frame.f_back


def test_no_write_reads_a_table_as_a_whole(writes):
    wrong = [
        f'{write.places[0]} {write.statement}: {write.plan}'
        for write in writes
        if write.reads_a_whole_table
    ]
    assert not wrong, '\n'.join(wrong)


def test_every_write_of_the_product_was_looked_at(writes):
    seen = {place for write in writes for place in write.places}
    missed = [
        (name, lines.start)
        for name, lines in places()
        if not any((name, line) in seen for line in lines)
    ]
    assert not missed, 'add what does it to WRITES'


def places() -> Iterator[tuple[str, range]]:
    """Yield the file and the lines of each statement of Python that has an
    UPDATE or DELETE."""
    for path in sorted(FOLDER.rglob('*.py')):
        if FOLDER / 'migrations' in path.parents:
            continue
        name = path.relative_to(FOLDER).as_posix()
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.stmt) and not hasattr(node, 'body'):
                if any(map(_writes, ast.walk(node))):
                    assert node.end_lineno is not None
                    yield name, range(node.lineno, node.end_lineno + 1)


def _writes(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and ast.unparse(node.func) in (
        'sa.update',
        'sa.delete',
        'pages.delete',
        'writes.changed',
        'writes.count',
        'held_rows.change',
        'resources.change',
    )
