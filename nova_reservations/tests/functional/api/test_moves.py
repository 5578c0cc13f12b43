# SPDX-License-Identifier: Apache-2.0
"""Moves of servers that Nova knows, on Nova's own databases."""

from collections.abc import Iterator
import pathlib
import uuid

from nova import context as nova_context
from nova import objects
from nova.tests import fixtures as nova_fixtures
import pytest

from nova_reservations.tests.functional.api import conftest

FORCED = {
    'os-migrateLive': {
        'host': 'elsewhere',
        'block_migration': 'auto',
        'force': True,
    }
}


@pytest.fixture
def cell(tmp_path: pathlib.Path) -> Iterator[objects.CellMapping]:
    """A cell of a Nova.

    Its fixtures lay temporary directories into one of theirs: pytest's must
    be there before.
    """
    objects.register_all()
    databases = nova_fixtures.CellDatabases()
    databases.add_cell_database('cell1', default=True)
    with (
        nova_fixtures.RPCFixture('nova.test'),
        nova_fixtures.Database(database='api'),
        databases,
    ):
        cell = objects.CellMapping(
            nova_context.get_admin_context(),
            uuid=str(uuid.uuid4()),
            name='cell1',
            transport_url='fake://nowhere/',
            database_connection='cell1',
        )
        cell.create()
        yield cell


def make_server(cell, host, **hints):
    """Write what Nova keeps of a server; return its id."""
    context = nova_context.get_admin_context()
    server_id = str(uuid.uuid4())
    with nova_context.target_cell(context, cell) as target:
        objects.Instance(
            target, uuid=server_id, host=host, project_id='ours'
        ).create()
    objects.InstanceMapping(
        context,
        instance_uuid=server_id,
        project_id='ours',
        cell_mapping=cell,
    ).create()
    objects.RequestSpec(
        context,
        instance_uuid=server_id,
        project_id='ours',
        flavor=objects.Flavor(id=1, flavorid='1', extra_specs={}),
        num_instances=1,
        scheduler_hints=hints,
    ).create()
    return server_id


def force(admin: conftest.Person, server_id: str) -> int:
    return admin.send(
        'POST',
        f'/servers/{server_id}/action',
        FORCED,
        headers={'OpenStack-API-Version': 'compute 2.30'},
    ).status_int


def test_a_server_on_an_enrolled_host_is_not_moved_past_the_scheduler(
    cell, admin, enrolled
):
    assert force(admin, make_server(cell, 'h1')) == 409


def test_a_server_of_a_lease_is_not_moved_past_the_scheduler(
    cell, admin, member, enrolled
):
    [reservation] = member.lease()['reservations']
    assert (
        force(
            admin,
            make_server(cell, 'elsewhere', reservation=[reservation['id']]),
        )
        == 409
    )


@pytest.mark.parametrize(
    'hints',
    [{}, {'reservation': [str(uuid.uuid4())]}, {'reservation': ['x', 'y']}],
)
def test_a_server_that_has_nothing_to_do_with_leases_is_moved(
    cell, admin, enrolled, hints
):
    assert force(admin, make_server(cell, 'elsewhere', **hints)) == 202


@pytest.mark.parametrize('server_id', [str(uuid.UUID(int=7)), 'x', '%00'])
def test_a_server_that_nova_does_not_know_is_left_to_nova(
    cell, admin, enrolled, server_id
):
    assert force(admin, server_id) == 202
