# SPDX-License-Identifier: Apache-2.0
"""Blazar-dashboard 16 does not do all with Horizon 27, whatever the API
answers. The pages "Known limits" and "Horizon" list it; when one of these
tests fails, a new version does it, and these pages change.
"""

from nova_reservations.tests.browser.browsers import HOSTS
from nova_reservations.tests.browser.browsers import LEASES


def test_a_lease_has_no_button_to_update_it(cloud, demo):
    cloud.give('lease')
    *_, actions = demo.rows(LEASES)['lease']
    assert actions == 'Delete Lease'
    assert "module 'datetime' has no attribute 'now'" in cloud.log.read_text()


def test_the_form_to_create_hosts_is_a_page_of_an_error(cloud, admin):
    admin.open(f'{HOSTS}create/')
    assert 'Server error' in admin.driver.title
    assert (
        "'Hypervisor' object has no attribute 'hypervisor_hostname'"
        in cloud.log.read_text()
    )


def test_a_date_that_is_none_is_not_told_of(cloud, demo):
    demo.open(LEASES)
    form = demo.dialog('#leases__action_create')
    demo.fill(form, name='wrong', start_date='tomorrow')
    assert demo.send(form) == (
        'Danger: There was an error submitting the form. Please try again.'
    )
    assert f'"POST {LEASES}create/ HTTP/1.1" 500' in cloud.log.read_text()
    assert cloud.leases(cloud.demo) == []
