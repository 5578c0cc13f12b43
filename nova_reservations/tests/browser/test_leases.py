# SPDX-License-Identifier: Apache-2.0
"""The panel of leases, as a member uses it."""

import datetime
import json

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.support import select

from nova_reservations.tests.browser.browsers import LEASES

CREATE = '#leases__action_create'

#: The format of the form.
MINUTES = '%Y-%m-%d %H:%M'


def in_days(days):
    now = datetime.datetime.now(datetime.UTC)
    return (now + datetime.timedelta(days)).strftime(MINUTES)


def minutes(date):
    """Return a date of the API as the panel shows it."""
    return datetime.datetime.fromisoformat(date).strftime(f'{MINUTES} UTC')


def values(reservation, *keys):
    return {key: reservation[key] for key in keys}


def test_a_member_finds_the_panel_and_leases_hosts_with_every_field(
    cloud, demo
):
    (host, *_) = cloud.hosts
    cloud.operator.reservation.put(
        f'/os-hosts/{cloud.pool()[host]["id"]}', json={'rack': 'r7'}
    )
    start, end = in_days(1), in_days(2)
    demo.open('/project/')
    demo.go('Project', 'Reservations', 'Leases')
    form = demo.dialog(CREATE)
    demo.fill(
        form,
        name='workshop',
        start_date=start,
        end_date=end,
        resource_type='Physical Host',
        min_hosts='1',
        max_hosts='2',
        hypervisor_properties='[">=", "$vcpus", "2"]',
        resource_properties='["==", "$rack", "r7"]',
    )
    said = demo.send(form)
    assert said == 'Success: Lease workshop was successfully created.'
    lease = cloud.lease('workshop')
    assert minutes(lease['start_date']) == f'{start} UTC'
    assert minutes(lease['end_date']) == f'{end} UTC'
    (reservation,) = lease['reservations']
    assert values(
        reservation,
        'resource_type',
        'min',
        'max',
        'hypervisor_properties',
        'resource_properties',
    ) == {
        'resource_type': 'physical:host',
        'min': 1,
        'max': 2,
        'hypervisor_properties': '[">=", "$vcpus", "2"]',
        'resource_properties': '["==", "$rack", "r7"]',
    }


@pytest.mark.parametrize(
    ('rule', 'affinity'),
    [('None', None), ('Affinity', True), ('Anti-Affinity', False)],
)
def test_a_member_leases_instances_with_every_field(
    cloud, demo, rule, affinity
):
    demo.open(LEASES)
    form = demo.dialog(CREATE)
    demo.fill(form, name='nodes', resource_type='Virtual Instance')
    # Fields of the other type are hidden by JavaScript.
    assert not form.find_element(By.NAME, 'min_hosts').is_displayed()
    demo.fill(
        form,
        start_date=in_days(1),
        end_date=in_days(2),
        amount='2',
        vcpus='3',
        memory_mb='64',
        disk_gb='5',
        affinity=rule,
        resource_properties='["==", "$availability_zone", "nova"]',
    )
    said = demo.send(form)
    assert said == 'Success: Lease nodes was successfully created.'
    (reservation,) = cloud.lease('nodes')['reservations']
    assert values(
        reservation,
        'resource_type',
        'amount',
        'vcpus',
        'memory_mb',
        'disk_gb',
        'affinity',
        'resource_properties',
    ) == {
        'resource_type': 'virtual:instance',
        'amount': 2,
        'vcpus': 3,
        'memory_mb': 64,
        'disk_gb': 5,
        'affinity': affinity,
        'resource_properties': '["==", "$availability_zone", "nova"]',
    }


def test_a_lease_without_dates_is_from_now_for_a_day(cloud, demo):
    demo.open(LEASES)
    form = demo.dialog(CREATE)
    demo.fill(form, name='now')
    demo.send(form)
    lease = cloud.lease('now')
    start, end = (
        datetime.datetime.fromisoformat(lease[key])
        for key in ('start_date', 'end_date')
    )
    assert end - start == datetime.timedelta(1)

    def row():
        _, *cells = demo.rows(LEASES)['now']
        return cells if cells[2] == 'ACTIVE' else None

    begin, finish, _, degraded, _ = demo.until(row)
    assert begin == minutes(lease['start_date'])
    assert finish == minutes(lease['end_date'])
    assert degraded == 'No'


@pytest.fixture
def tokyo(demo):
    """A browser whose user has chosen this zone in Horizon's settings."""

    def choose(zone):
        demo.open('/settings/')
        form = demo.one('#content_body form')
        zones = form.find_element(By.NAME, 'timezone')
        select.Select(zones).select_by_value(zone)
        assert demo.send(form) == 'Success: Settings saved.'

    choose('Asia/Tokyo')
    yield demo
    choose('UTC')


def test_dates_are_in_the_zone_that_the_user_has_chosen(cloud, tokyo):
    start = datetime.datetime.now(datetime.UTC) + datetime.timedelta(1)
    there = (start + datetime.timedelta(hours=9)).strftime(MINUTES)
    said = tokyo.fill_page(f'{LEASES}create/', name='lease', start_date=there)
    assert said == 'Success: Lease lease was successfully created.'
    lease = cloud.lease('lease')
    assert minutes(lease['start_date']) == f'{start.strftime(MINUTES)} UTC'
    tokyo.open(f'{LEASES}{lease["id"]}/')
    assert f'Start date\n{there} JST' in tokyo.text
    # The table knows of no zones.
    assert tokyo.rows(LEASES)['lease'][1] == minutes(lease['start_date'])


def test_a_click_on_the_name_shows_a_lease(cloud, demo):
    lease = cloud.give('workshop')
    (reservation,) = lease['reservations']
    demo.open(LEASES)
    demo.click(demo.row('workshop').find_element(By.TAG_NAME, 'a'))
    demo.until(lambda: lease['id'] in demo.path)
    lines = demo.text.splitlines()

    def after(label):
        return lines[lines.index(label) + 1]

    assert after('Name') == 'workshop'
    assert after('Project Id') == lease['project_id']
    assert after('Start date') == minutes(lease['start_date'])
    assert after('Status') == 'PENDING'
    assert {'start_lease', 'before_end_lease', 'end_lease'} <= {*lines}
    assert after('id') == reservation['id']
    assert after('resource type') == 'physical:host'
    assert after('max') == '1'


def update(lease):
    return f'{LEASES}{lease["id"]}/update'


def test_a_lease_is_renamed_and_moved_and_resized(cloud, demo):
    lease = cloud.give('before')
    (reservation,) = lease['reservations']
    said = demo.fill_page(
        update(lease),
        lease_name='after',
        start_time='+2h',
        end_time='+3h',
        reservations=json.dumps([{'id': reservation['id'], 'max': 2}]),
    )
    assert said == 'Success: Lease update started.'
    changed = cloud.lease('after')
    for key, hours in (('start_date', 2), ('end_date', 3)):
        before, after = (
            datetime.datetime.fromisoformat(each[key])
            for each in (lease, changed)
        )
        assert after - before == datetime.timedelta(hours=hours)
    assert changed['reservations'][0]['max'] == 2


def test_a_lease_is_advanced_and_reduced(cloud, demo):
    lease = cloud.give('lease')
    said = demo.fill_page(update(lease), start_time='-60m', end_time='-2h')
    assert said == 'Success: Lease update started.'
    changed = cloud.lease('lease')
    for key, hours in (('start_date', 1), ('end_date', 2)):
        before, after = (
            datetime.datetime.fromisoformat(each[key])
            for each in (lease, changed)
        )
        assert before - after == datetime.timedelta(hours=hours)


def test_a_lease_of_instances_is_renamed_and_has_no_other_field(cloud, demo):
    slots = {
        'resource_type': 'virtual:instance',
        'amount': 1,
        'vcpus': 1,
        'memory_mb': 64,
        'disk_gb': 0,
        'affinity': None,
        'resource_properties': '',
    }
    lease = cloud.give('before', reservations=[slots])
    demo.open(update(lease))
    form = demo.one('#content_body form')
    fields = [
        each.get_attribute('name') for each in demo.visible('input', form)
    ]
    assert fields[0] == 'lease_name'
    assert not {'start_time', 'end_time', 'reservations'} & {*fields}
    demo.fill(form, lease_name='after')
    assert demo.send(form) == 'Success: Lease update started.'
    assert cloud.lease('after')['id'] == lease['id']


def test_a_lease_is_deleted_by_the_button_of_its_row(cloud, demo):
    cloud.give('kept')
    cloud.give('deleted')
    demo.open(LEASES)
    demo.click(
        demo.row('deleted').find_element(By.CSS_SELECTOR, 'button.btn-danger')
    )
    assert 'You have selected: "deleted"' in demo.one('.modal-body').text
    assert demo.confirm() == 'Success: Deleted Lease: deleted'
    assert demo.rows(LEASES).keys() == {'kept'}


def test_leases_are_deleted_together(cloud, demo):
    for name in ('kept', 'one', 'two'):
        cloud.give(name)
    demo.open(LEASES)
    for name in ('one', 'two'):
        row = demo.row(name)
        demo.click(row.find_element(By.CSS_SELECTOR, '.multi_select_column'))
    demo.click(demo.one('#leases__action_delete'))
    assert demo.confirm() == 'Success: Deleted Leases: one, two'
    assert demo.rows(LEASES).keys() == {'kept'}


def test_an_administrator_leases_as_members_do(cloud, admin):
    cloud.give("a member's")
    admin.open(LEASES)
    form = admin.dialog(CREATE)
    admin.fill(form, name='own', start_date=in_days(1))
    said = admin.send(form)
    assert said == 'Success: Lease own was successfully created.'
    (lease,) = (
        each for each in cloud.leases(cloud.operator) if each['name'] == 'own'
    )
    assert admin.rows(LEASES).keys() == {'own', "a member's"}
    admin.open(f'{LEASES}{lease["id"]}/')
    assert 'own' in admin.text
    said = admin.fill_page(update(lease), lease_name='renamed')
    assert said == 'Success: Lease update started.'
    admin.click(
        admin.row('renamed').find_element(By.CSS_SELECTOR, 'button.btn-danger')
    )
    assert admin.confirm() == 'Success: Deleted Lease: renamed'
    assert admin.rows(LEASES).keys() == {"a member's"}
