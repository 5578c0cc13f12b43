# SPDX-License-Identifier: Apache-2.0
"""The panel of hosts, as an administrator uses it."""

from selenium.webdriver.common.by import By

from nova_reservations.tests.browser.browsers import HOSTS


def test_an_administrator_finds_the_panel_which_lists_hosts(cloud, admin):
    admin.open('/project/')
    admin.go('Admin', 'Reservation', 'Hosts')
    admin.row(cloud.hosts[0])
    assert admin.path == HOSTS
    rows = admin.rows(HOSTS)
    assert rows.keys() == {*cloud.hosts}
    for host, (_, vcpus, memory, disk, kind, reservable, _) in rows.items():
        shown = cloud.pool()[host]
        assert vcpus == str(shown['vcpus'])
        assert memory == f'{shown["memory_mb"] // 1024}GB'
        assert disk == f'{shown["local_gb"]}GB'
        assert kind == shown['hypervisor_type']
        assert reservable == 'Yes'


def test_a_click_on_the_name_shows_a_host(cloud, admin):
    host = cloud.hosts[0]
    admin.open(HOSTS)
    admin.click(admin.row(host).find_element(By.TAG_NAME, 'a'))
    key = cloud.pool()[host]['id']
    admin.until(lambda: admin.path == f'{HOSTS}{key}/')
    lines = admin.text.splitlines()

    def after(label):
        return lines[lines.index(label) + 1]

    assert after('Host name') == host
    assert after('Id') == key
    assert after('Reservable') == 'Yes'
    assert after('vCPUs') == '16'
    assert after('Hypervisor type') == 'fake'
    assert after('availability_zone') == 'nova'


def test_a_host_gets_a_property_in_the_dialog_and_shows_it(cloud, admin):
    host = cloud.hosts[0]
    admin.open(HOSTS)
    admin.click(
        admin.row(host).find_element(By.CSS_SELECTOR, '[id$=action_update]')
    )
    form = admin.one('.modal-dialog form')
    admin.fill(form, values='{"rack": "r7"}')
    assert admin.send(form) == 'Success: Host was successfully updated.'
    shown = cloud.pool()[host]
    assert shown['rack'] == 'r7'
    admin.open(f'{HOSTS}{shown["id"]}/')
    assert 'rack\nr7' in admin.text


def test_a_host_is_deleted_by_the_menu_of_its_row(cloud, admin):
    gone, *left = cloud.hosts
    admin.open(HOSTS)
    row = admin.row(gone)
    admin.click(row.find_element(By.CSS_SELECTOR, '.dropdown-toggle'))
    admin.click(row.find_element(By.CSS_SELECTOR, '.btn-danger'))
    assert admin.confirm().startswith('Success: Deleted Host: ')
    assert admin.rows(HOSTS).keys() == {*left}
    assert cloud.pool().keys() == {*left}


def test_hosts_are_deleted_together(cloud, admin):
    *gone, left = cloud.hosts
    admin.open(HOSTS)
    for host in gone:
        row = admin.row(host)
        admin.click(row.find_element(By.CSS_SELECTOR, '.multi_select_column'))
    admin.click(admin.one('#hosts__action_delete'))
    assert admin.confirm().startswith('Success: Deleted Hosts: ')
    assert admin.rows(HOSTS).keys() == {left}
