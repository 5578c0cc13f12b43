# SPDX-License-Identifier: Apache-2.0
"""Refusals are told in words: ours, or those of the form."""

import pytest
from selenium.webdriver.common.by import By

from nova_reservations.tests.browser.browsers import HOSTS
from nova_reservations.tests.browser.browsers import LEASES

NOT_CREATED = 'Error: An error occurred while creating this lease: ERROR: '
NOT_UPDATED = 'Error: An error occurred while updating this lease: ERROR: '
HOST_NOT_UPDATED = 'Error: An error occurred while updating this host: ERROR: '


@pytest.mark.parametrize(
    ('fields', 'reason'),
    [
        (
            {'min_hosts': '50', 'max_hosts': '50'},
            'Not enough hosts available: 3 hosts match, 0 are taken',
        ),
        (
            {'min_hosts': '2', 'max_hosts': '1'},
            'Invalid values for min/max of hosts',
        ),
        (
            {'hypervisor_properties': '["==", "$vcpus"'},
            'Malformed requirements ["==", "$vcpus": this is not JSON',
        ),
        (
            {'resource_properties': '["==", "$nosuch", "x"]'},
            'Malformed requirements: no host has a property nosuch',
        ),
        (
            {'start_date': '2020-01-01 08:00'},
            'Start date must be later than current date',
        ),
        (
            {
                'start_date': '2127-03-02 08:00',
                'end_date': '2127-03-01 08:00',
            },
            'End date must be later than start date',
        ),
    ],
)
def test_a_lease_that_is_refused_says_why(cloud, demo, fields, reason):
    demo.open(LEASES)
    form = demo.dialog('#leases__action_create')
    demo.fill(form, name='wrong', **fields)
    assert demo.send(form).startswith(NOT_CREATED + reason)
    # What was typed is still there, to be mended.
    name = demo.one('.modal-dialog [name=name]')
    assert name.get_attribute('value') == 'wrong'
    assert cloud.leases(cloud.demo) == []


@pytest.mark.parametrize(
    ('fields', 'words'),
    [
        ({'min_hosts': '0'}, 'greater than or equal to 1'),
        ({'max_hosts': '0'}, 'greater than or equal to 1'),
    ],
)
def test_a_field_that_can_not_be_is_marked(cloud, demo, fields, words):
    demo.open(LEASES)
    form = demo.dialog('#leases__action_create')
    demo.fill(form, name='wrong', **fields)
    # The browser's own check comes first; it is told by no text of the page.
    demo.driver.execute_script('arguments[0].noValidate = true', form)
    assert words in demo.send(form)
    assert cloud.leases(cloud.demo) == []


@pytest.mark.parametrize(
    ('fields', 'said'),
    [
        ({}, 'Nothing to update.'),
        (
            {'end_time': 'tomorrow'},
            'The start/end time must be a form of +/- number d/h/m. '
            '(e.g. +1h)',
        ),
        ({'reservations': '[{'}, 'Reservation values must be written in JSON'),
        (
            {'reservations': '[{"id": "x", "max": 1}]'},
            f'{NOT_UPDATED}Malformed parameter reservations.0.id: '
            'must be a UUID in its lower case form.',
        ),
        (
            {'end_time': '-9d'},
            f'{NOT_UPDATED}End date must be later than current and start date',
        ),
    ],
)
def test_a_change_that_is_refused_says_why(cloud, demo, fields, said):
    lease = cloud.give('lease')
    answer = demo.fill_page(f'{LEASES}{lease["id"]}/update', **fields)
    assert answer.startswith(said)
    assert cloud.lease('lease')['end_date'] == lease['end_date']


@pytest.mark.parametrize('page', ['', 'update'])
def test_a_lease_of_nobody_or_of_others_can_not_be_retrieved(
    cloud, demo, page
):
    answer = cloud.operator.reservation.post(
        '/leases',
        json={
            'name': 'theirs',
            'start_date': '2127-03-01 08:00',
            'end_date': '2127-03-02 08:00',
            'reservations': [
                {
                    'resource_type': 'physical:host',
                    'min': 1,
                    'max': 1,
                    'hypervisor_properties': '',
                    'resource_properties': '',
                }
            ],
        },
    )
    theirs = answer.json()['lease']['id']
    for lease in (theirs, 'nonsense'):
        demo.open(f'{LEASES}{lease}/{page}')
        assert demo.said().startswith('Error: Unable to retrieve lease')
        assert demo.path == LEASES


@pytest.mark.parametrize(
    ('values', 'said'),
    [
        ('rack=r7', 'Values must be written in JSON'),
        ('{"vcpus": "99"}', f'{HOST_NOT_UPDATED}vcpus cannot be set'),
    ],
)
def test_a_host_that_can_not_be_changed_so_says_why(
    cloud, admin, values, said
):
    key = cloud.pool()[cloud.hosts[0]]['id']
    answer = admin.fill_page(f'{HOSTS}{key}/update', values=values)
    assert answer.startswith(said)


def test_a_leased_host_is_not_deleted(cloud, admin):
    # All of them: it is no other host that is deleted.
    cloud.give(
        'all',
        reservations=[
            {
                'resource_type': 'physical:host',
                'min': 3,
                'max': 3,
                'hypervisor_properties': '',
                'resource_properties': '',
            }
        ],
    )
    admin.open(HOSTS)
    row = admin.row(cloud.hosts[0])
    admin.click(row.find_element(By.CSS_SELECTOR, '.dropdown-toggle'))
    admin.click(row.find_element(By.CSS_SELECTOR, '.btn-danger'))
    assert admin.confirm().startswith('Error: Unable to delete host: ')
    assert admin.rows(HOSTS).keys() == {*cloud.hosts}


def test_a_member_has_no_menu_of_hosts_and_changes_none(cloud, demo):
    demo.open(LEASES)
    assert 'Admin' not in demo.one('#sidebar').text
    pool = cloud.pool()
    ids = {each['id'] for each in pool.values()}
    # The address is open to all, as with Blazar; names are not told.
    assert demo.rows(HOSTS).keys() == ids
    key = pool[cloud.hosts[0]]['id']
    said = demo.fill_page(f'{HOSTS}{key}/update', values='{"rack": "r7"}')
    assert said.startswith(f'{HOST_NOT_UPDATED}Policy does')
    assert 'rack' not in cloud.pool()[cloud.hosts[0]]
