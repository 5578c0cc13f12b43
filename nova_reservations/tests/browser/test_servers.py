# SPDX-License-Identifier: Apache-2.0
"""Horizon's own form has a server created in a lease."""

from selenium.webdriver.common.by import By

from nova_reservations.tests.browser.browsers import LEASES
from sandbox import cloud as cloud_
from sandbox import person

#: The arrow beside what can be chosen.
ARROW = 'action-list button'


def server(cloud):
    answer = cloud.operator.compute.get(
        '/servers/detail?all_tenants=1&status=ACTIVE'
    )
    return next(iter(person.body(answer)['servers']), None)


def test_a_member_launches_a_server_on_a_leased_host(cloud, demo, folder):
    assert (
        demo.fill_page(f'{LEASES}create/', name='lease')
        == 'Success: Lease lease was successfully created.'
    )
    demo.until(lambda: demo.rows(LEASES)['lease'][3] == 'ACTIVE')
    lease = cloud.demo.lease(cloud.lease('lease')['id'])
    (reservation,) = lease['reservations']
    (host,) = reservation['hosts']
    demo.open('/project/instances/')
    demo.click(demo.one('#instances__action_launch-ng'))
    form = demo.one('.modal-content')
    demo.one('[name=name]', form).send_keys('server')
    for step, item in (
        ('Source', cloud_.IMAGE),
        ('Flavor', cloud_.FLAVOR),
    ):
        demo.click(demo.link(form, step))

        def row(item=item):
            return [
                row
                for row in demo.visible('tr', form)
                if item in row.text and demo.visible(ARROW, row)
            ]

        (found,) = demo.until(row)
        demo.click(demo.one(ARROW, found))
    demo.click(demo.link(form, 'Scheduler Hints'))
    (hint,) = demo.until(
        lambda: [
            each
            for each in demo.visible('.list-group-item', form)
            if each.text == 'Reservations'
        ]
    )
    demo.click(hint.find_element(By.CSS_SELECTOR, '.btn-primary'))
    demo.one('[name=property]', form).send_keys(reservation['id'])
    demo.picture(folder / 'horizon-launch.png', 870)
    demo.click(demo.one('.finish', form))
    launched = demo.until(lambda: server(cloud))
    assert launched['name'] == 'server'
    assert launched['OS-EXT-SRV-ATTR:host'] == host['service_name']
