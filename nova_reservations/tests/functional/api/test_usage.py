# SPDX-License-Identifier: Apache-2.0
"""Usage as users, administrators and scripts read it."""

import csv
import io

import pytest
import sqlalchemy as sa

from nova_reservations.db import models

pytestmark = pytest.mark.usefixtures('enrolled')

LEASE = '0b3dbf16-7a0c-4bd0-9a26-32f5d4b6c001'
MONTH = '/usage?start=2030-05-01 00:00&end=2030-06-01 00:00'


@pytest.fixture
def settings(settings):
    for name, value in {
        'rating': 'reserved',
        'rating_prices': ['physical:host=0.125', 'VCPU=0.01'],
        'rating_unit': 'EUR',
    }.items():
        settings.set_override(name, value, group='reservations')
    return settings


@pytest.fixture
def record(services, clock):
    """Write a usage record of a project for the last hours."""

    def write(project='ours', hours=10, amount=2, lease=LEASE, name='VCPU'):
        began = clock.now.replace(hour=clock.now.hour - hours)
        with services.database.writer() as session:
            session.execute(
                sa.insert(models.Usage).values(
                    lease_id=lease,
                    reservation_id=lease,
                    project_id=project,
                    user_id='user',
                    lease_name='mine',
                    lease_type='scheduled',
                    resource_type='physical:host',
                    resource_class=name,
                    amount=amount,
                    degraded=False,
                    started_at=began,
                )
            )

    return write


def read(person, path=MONTH):
    answer = person('GET', path)
    assert answer.status_int == 200, answer.text
    return answer.json['tenant_usages']


def test_a_lease_from_its_start_to_its_end_is_what_is_billed(
    member, workers, clock
):
    lease = member.lease(name='course')
    workers.work(seconds=2)
    clock.forward(minutes=30)
    [usage] = read(member, f'{MONTH}&detailed=1')
    [shown] = usage['lease_usages']
    assert (shown['lease_id'], shown['name']) == (lease['id'], 'course')
    assert shown['state'] == 'active'
    assert shown['reserved']['physical:host'] == shown['hours']
    assert 0.5 <= shown['hours'] < 0.51
    clock.forward(hours=2)
    workers.work(seconds=5)
    member('DELETE', f'/leases/{lease["id"]}')
    [usage] = read(member)
    assert 0.99 < usage['total_hours'] <= 1
    # 16 VCPU at 0.01, and a host at 0.125.
    assert usage['total_amount'] in ('0.28', '0.29')
    assert usage['unit'] == 'EUR'


def test_usage_has_the_shape_of_that_of_novas_servers(member, record):
    record()
    [usage] = read(member, f'{MONTH}&detailed=true')
    leases = usage.pop('lease_usages')
    assert usage == {
        'tenant_id': 'ours',
        'start': '2030-05-01T00:00:00.000000',
        'stop': '2030-06-01T00:00:00.000000',
        'total_hours': 10.0,
        'total_vcpus_usage': 20.0,
        'total_memory_mb_usage': 0.0,
        'total_local_gb_usage': 0.0,
        'reserved': {'VCPU': 20.0},
        'degraded': {},
        'used': {},
        'total_amount': '0.20',
        'unit': 'EUR',
    }
    assert leases == [
        {
            'lease_id': LEASE,
            'name': 'mine',
            'tenant_id': 'ours',
            'user_id': 'user',
            'lease_type': 'scheduled',
            'state': 'active',
            'started_at': '2030-05-17T00:30:25.000000',
            'ended_at': None,
            'hours': 10.0,
            'reserved': {'VCPU': 20.0},
            'degraded': {},
            'used': {},
            'amount': '0.20',
            'unit': 'EUR',
        }
    ]


def test_usage_is_that_of_this_month_by_default(member, record):
    record()
    [usage] = read(member, '/usage')
    assert usage['start'] == '2030-05-01T00:00:00.000000'
    assert usage['total_hours'] == 10.0
    assert read(member, '/usage?end=2030-05-01 00:00') == []


def test_members_see_their_project_and_administrators_all(
    admin, member, reader, stranger, nobody, record
):
    record()
    record('theirs')
    assert [each['tenant_id'] for each in read(reader)] == ['ours']
    assert read(member, f'{MONTH}&project_id=ours') == read(member)
    for path in (f'{MONTH}&project_id=ours', MONTH):
        projects = [each['tenant_id'] for each in read(admin, path)]
        assert projects == ['ours', 'theirs'][: 2 if path == MONTH else 1]
    path = f'{MONTH}&project_id=theirs'
    assert member('GET', path).status_int == 403
    assert nobody('GET', MONTH).status_int == 403
    assert len(read(stranger, path)) == 1


def test_projects_come_in_pages(admin, record):
    for project in ('a', 'b', 'c'):
        record(project)
    first = admin('GET', f'{MONTH}&limit=2')
    assert [each['tenant_id'] for each in first.json['tenant_usages']] == [
        'a',
        'b',
    ]
    [link] = first.json['tenant_usages_links']
    rest = admin('GET', link['href'].partition('/v1')[2])
    assert [each['tenant_id'] for each in rest.json['tenant_usages']] == ['c']
    assert 'tenant_usages_links' not in rest.json


@pytest.mark.parametrize(
    'query',
    [
        'start=x',
        'start=2030-02-01 00:00&end=2030-01-01 00:00',
        'detailed=perhaps',
        'limit=0',
        'moon=1',
    ],
)
def test_a_query_of_usage_that_makes_no_sense_is_refused(member, query):
    assert member('GET', f'/usage?{query}').status_int == 400


def test_the_command_prints_tables_for_accounts(openstack, member, record):
    record()
    record(lease=LEASE.replace('c001', 'c002'), amount=1)
    run = openstack(member, 'lease')
    words = ('--start=2030-05-01 00:00', '--end=2030-06-01 00:00', '-f', 'csv')
    [total] = csv.DictReader(io.StringIO(run('usage', *words)))
    assert (total['VCPU hours'], total['Amount']) == ('30.0', '0.30')
    rows = [*csv.DictReader(io.StringIO(run('usage', '--detailed', *words)))]
    assert sorted(row['Amount'] for row in rows) == ['0.10', '0.20']
    assert {row['Unit'] for row in rows} == {'EUR'}
