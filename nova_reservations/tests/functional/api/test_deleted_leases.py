# SPDX-License-Identifier: Apache-2.0
"""Deleted leases are hidden from their project; administrators see them."""

from nova import policy
import nova.conf
import pytest
import sqlalchemy as sa

from nova_reservations.db import models

pytestmark = pytest.mark.usefixtures('enrolled')


@pytest.fixture
def gone(member, workers, clock):
    """A lease that was deleted while it was active, between two others."""
    leases = []
    for name in ('a', 'b', 'c'):
        leases.append(member.lease(name=name, duration='300d'))
        workers.work()
        clock.forward(minutes=1)
    clock.forward(hours=1)
    path = f'/leases/{leases[1]["id"]}'
    active = member('GET', path).json['lease']
    assert member('DELETE', path).status_int == 204
    workers.work(seconds=3)
    clock.forward(minutes=1)
    return active


@pytest.fixture
def allowed_to_members(tmp_path):
    rules = tmp_path / 'policy.yaml'
    rules.write_text('"reservations:leases:deleted": "role:member"\n')
    nova.conf.CONF.set_override('policy_file', str(rules), 'oslo_policy')
    policy.reset()
    yield
    policy.reset()


def names(answer):
    return [lease['name'] for lease in answer.json['leases']]


def test_the_project_of_a_deleted_lease_does_not_see_it(member, gone):
    assert member('GET', f'/leases/{gone["id"]}').status_int == 404
    assert member('DELETE', f'/leases/{gone["id"]}').status_int == 404
    assert names(member('GET', '/leases')) == ['a', 'c']
    assert names(member('GET', '/leases?changes-since=2029-01-01 00:00')) == [
        'a',
        'c',
    ]
    assert names(member('GET', '/leases?deleted=false')) == ['a', 'c']
    assert member('GET', '/leases?deleted=true').status_int == 403
    path = f'/leases/{gone["id"]}?deleted=true'
    assert member('GET', path).status_int == 403


def test_a_deleted_lease_that_was_over_is_hidden_and_billed_still(
    admin, member, workers, clock
):
    lease = member.lease(name='used')
    workers.work()
    clock.forward(hours=2)
    workers.work(seconds=3)
    path = f'/leases/{lease["id"]}'
    over = member('GET', path).json['lease']
    assert over['status'] == 'TERMINATED'
    assert member('DELETE', path).status_int == 204
    assert member('GET', path).status_int == 404
    [shown] = admin('GET', '/leases?deleted=true').json['leases']
    assert (shown['id'], shown['status']) == (lease['id'], 'TERMINATED')
    [usage] = member('GET', '/usage?detailed=1').json['tenant_usages']
    [billed] = usage['lease_usages']
    assert (billed['lease_id'], billed['name']) == (lease['id'], 'used')


def test_an_administrator_sees_it_as_it_was(admin, gone):
    [shown] = admin('GET', '/leases?deleted=true').json['leases']
    same = ('id', 'name', 'project_id', 'start_date', 'end_date', 'created_at')
    assert {key: shown[key] for key in same} == {
        key: gone[key] for key in same
    }
    assert shown['deleted_at'] == '2030-05-17 11:33:30'
    path = f'/leases/{gone["id"]}'
    assert admin('GET', f'{path}?deleted=true').json['lease'] == shown
    assert admin('DELETE', path).status_int == 404
    assert admin('PUT', path, {'name': 'x'}).status_int == 404


def test_the_id_of_a_deleted_lease_is_404_for_administrators_unless_asked(
    admin, gone
):
    """Clients wait for that, whoever's token they have."""
    path = f'/leases/{gone["id"]}'
    assert admin('GET', path).status_int == 404
    assert admin('GET', f'{path}?deleted=false').status_int == 404
    assert admin('GET', f'{path}?deleted=true').status_int == 200


def test_the_reason_that_a_deleted_lease_waited_for_last_is_not_shown(
    admin, member, workers, cloud, clock
):
    every = {'resource_type': 'physical:host', 'min': 3, 'max': 3}
    lease = member.lease(reservations=[every])
    workers.work()
    server = cloud.boot('h1', member.context.project_id)
    cloud.slow_servers.add(server)
    path = f'/leases/{lease["id"]}'
    member('DELETE', path)
    workers.work()
    waits = admin('GET', path).json['lease']
    assert waits['status'] == 'DELETING'
    assert server in waits['status_reason']
    cloud.slow_servers.clear()
    clock.forward(minutes=1)
    workers.work(seconds=3)
    shown = admin('GET', f'{path}?deleted=true').json['lease']
    assert shown['status'] == 'TERMINATED'
    assert shown['status_reason'] is None
    assert {
        event['event_type']: event['status'] for event in shown['events']
    } == {
        'start_lease': 'DONE',
        'before_end_lease': 'UNDONE',
        'end_lease': 'DONE',
    }


def test_a_lease_that_is_not_deleted_is_shown_in_either_way(admin, member):
    path = f'/leases/{member.lease()["id"]}'
    assert admin('GET', f'{path}?deleted=true').json == admin('GET', path).json


def test_nothing_is_kept_of_a_lease_that_had_not_begun(
    admin, member, services
):
    def rows():
        with services.database.reader() as session:
            return {
                table.name: session.scalar(
                    sa.select(sa.func.count()).select_from(table)
                )
                for table in models.Base.metadata.sorted_tables
            }

    before = rows()
    path = f'/leases/{member.lease(start_date="2050-01-01 10:00")["id"]}'
    assert rows() != before
    assert member('DELETE', path).status_int == 204
    assert rows() == before
    assert admin('GET', f'{path}?deleted=true').status_int == 404
    assert admin('GET', '/leases?deleted=true').json['leases'] == []


@pytest.mark.usefixtures('allowed_to_members')
def test_members_who_may_see_deleted_leases_see_only_those_of_own_projects(
    member, stranger, gone
):
    path = f'/leases/{gone["id"]}?deleted=true'
    assert member('GET', path).json['lease']['deleted'] is True
    assert stranger('GET', path).status_int == 404
    assert names(stranger('GET', '/leases?deleted=true')) == []


def test_an_administrator_is_told_that_it_was_deleted(admin, gone):
    assert names(admin('GET', '/leases')) == ['a', 'c']
    since = '/leases?changes-since='
    assert names(admin('GET', f'{since}2029-01-01 00:00')) == ['a', 'b', 'c']
    assert names(admin('GET', f'{since}2030-05-17 11:33:29')) == ['b']
    assert names(admin('GET', f'{since}2030-05-17 11:34')) == []
    only_others = f'{since}2029-01-01 00:00&deleted=false'
    assert names(admin('GET', only_others)) == ['a', 'c']


@pytest.mark.parametrize('direction', ['asc', 'desc'])
@pytest.mark.parametrize('key', ['created_at', 'name', 'id', 'status'])
def test_deleted_leases_and_others_are_read_by_pages(
    admin, gone, key, direction
):
    query = (
        f'changes-since=2029-01-01 00:00&sort_key={key}&sort_dir={direction}'
    )
    everything = names(admin('GET', f'/leases?{query}'))
    found, path = [], f'/leases?{query}&limit=1'
    while path:
        answer = admin('GET', path)
        found += names(answer)
        links = answer.json.get('leases_links', [])
        path = links and '/leases?' + links[0]['href'].partition('?')[2]
    assert found == everything
    assert sorted(found) == ['a', 'b', 'c']


@pytest.mark.parametrize(
    ('query', 'expected'),
    [
        ('name=b', ['b']),
        ('name=a', []),
        ('status=TERMINATED', ['b']),
        ('status=ACTIVE', []),
        ('end_after=2031-01-01 10:00', ['b']),
        ('start_after=2030-05-18 10:00', []),
        ('project_id=somebody', []),
        ('changes-since=2031-01-01 00:00', []),
    ],
)
def test_a_list_of_them_is_filtered(admin, gone, query, expected):
    assert names(admin('GET', f'/leases?deleted=1&{query}')) == expected


def test_a_marker_is_one_of_them(admin, member, gone):
    [other, _] = member('GET', '/leases').json['leases']
    query = f'/leases?deleted=1&marker={other["id"]}'
    assert admin('GET', query).status_int == 400
