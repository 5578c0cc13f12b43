# SPDX-License-Identifier: Apache-2.0
"""The pictures of the page "Horizon" of the documentation."""

import datetime

from PIL import Image
import pytest

from nova_reservations.tests.browser.browsers import CALENDAR
from nova_reservations.tests.browser.browsers import HOSTS
from nova_reservations.tests.browser.browsers import LEASES

#: What a page of the documentation may load for one.
BYTES = 80_000

SLOTS = {
    'resource_type': 'virtual:instance',
    'amount': 4,
    'vcpus': 2,
    'memory_mb': 4096,
    'disk_gb': 20,
    'affinity': None,
    'resource_properties': '',
}


@pytest.fixture
def busy(cloud):
    """A cloud of which there is something to see."""

    def at(days, hour):
        day = datetime.datetime.now(datetime.UTC) + datetime.timedelta(days)
        return f'{day:%Y-%m-%d} {hour:02}:00'

    def hosts(count):
        return [
            {
                'resource_type': 'physical:host',
                'min': count,
                'max': count,
                'hypervisor_properties': '',
                'resource_properties': '',
            }
        ]

    for name, start, end, reservations in (
        ('nightly builds', 'now', at(2, 6), hosts(1)),
        ('workshop', at(2, 9), at(4, 18), hosts(2)),
        ('course', at(1, 8), at(1, 18), [SLOTS]),
        ('benchmark', at(5, 9), at(6, 9), hosts(3)),
    ):
        cloud.give(
            name, start_date=start, end_date=end, reservations=reservations
        )
    return cloud


def is_good(file, height):
    with Image.open(file) as image:
        assert image.size == (1200, height)
        # A page that has no style, or nothing on it, has few colours.
        assert len(image.getcolors()) > 20
    assert file.stat().st_size < BYTES


def test_the_list_of_leases_is_drawn(busy, demo, folder):
    demo.until(lambda: demo.rows(LEASES)['nightly builds'][3] == 'ACTIVE')
    file = folder / 'horizon-leases.png'
    demo.picture(file, 540)
    is_good(file, 540)


@pytest.mark.parametrize(
    ('name', 'height', 'fields'),
    [
        (
            'hosts',
            780,
            {
                'name': 'workshop',
                'start_date': '2027-03-01 09:00',
                'end_date': '2027-03-05 18:00',
                'min_hosts': '2',
                'max_hosts': '4',
                'hypervisor_properties': '[">=", "$vcpus", "16"]',
                'resource_properties': '["==", "$gpu", "a100"]',
            },
        ),
        (
            'instances',
            920,
            {
                'name': 'course',
                'start_date': '2027-03-01 08:00',
                'end_date': '2027-03-01 18:00',
                'resource_type': 'Virtual Instance',
                'amount': '4',
                'vcpus': '2',
                'memory_mb': '4096',
                'disk_gb': '20',
                'affinity': 'Anti-Affinity',
            },
        ),
    ],
)
def test_the_form_of_a_lease_is_drawn(
    cloud, demo, folder, name, height, fields
):
    demo.resize(height)
    demo.open(LEASES)
    demo.fill(demo.dialog('#leases__action_create'), **fields)
    file = folder / f'horizon-create-{name}.png'
    demo.picture(file, height)
    is_good(file, height)


def test_the_details_of_a_lease_are_drawn(busy, demo, folder):
    demo.open(f'{LEASES}{busy.lease("workshop")["id"]}/')
    file = folder / 'horizon-lease.png'
    demo.picture(file, 900)
    is_good(file, 900)


def test_the_calendar_is_drawn(busy, admin, folder):
    admin.open(CALENDAR)
    admin.still(lambda: admin.visible('.apexcharts-rangebar-area'))
    file = folder / 'horizon-calendar.png'
    admin.picture(file, 480)
    is_good(file, 480)


def test_the_list_of_hosts_is_drawn(cloud, admin, folder):
    admin.rows(HOSTS)
    file = folder / 'horizon-hosts.png'
    admin.picture(file, 480)
    is_good(file, 480)
