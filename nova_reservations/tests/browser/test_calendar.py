# SPDX-License-Identifier: Apache-2.0
"""The calendar of hosts, which a script draws."""

import contextlib
import datetime

from nova_reservations.tests.browser.browsers import CALENDAR
from nova_reservations.tests.browser.browsers import LEASES

#: As wide as a bar of a lease is at least; each host has one of none, too.
BAR = 5


def bars(browser):
    return [
        bar
        for bar in browser.visible('.apexcharts-rangebar-area')
        if bar.size['width'] > BAR
    ]


def hosts(browser):
    return {
        label.text
        for label in browser.visible('.apexcharts-yaxis-label tspan')
    }


def dates(browser):
    return [
        datetime.datetime.strptime(
            browser.one(field).get_attribute('value'), '%m/%d/%Y'
        )
        for field in ('#dateStart', '#dateEnd')
    ]


def test_the_button_leads_to_a_calendar_with_each_host_and_lease(cloud, admin):
    for name in ('one', 'two'):
        cloud.give(name)
    admin.open(LEASES)
    admin.click(admin.one('#leases__action_calendar'))
    drawn = admin.until(lambda: bars(admin))
    assert admin.path == CALENDAR
    assert len(drawn) == 2
    assert hosts(admin) == {*cloud.hosts}


def test_a_bar_tells_the_host_and_the_dates(cloud, admin):
    lease = cloud.give('one')
    allocations = cloud.operator.reservation.get('/os-hosts/allocations')
    (host,) = (
        each['resource_id']
        for each in allocations.json()['allocations']
        if each['reservations']
    )
    names = {each['id']: name for name, each in cloud.pool().items()}
    admin.open(CALENDAR)
    shown = admin.hover(lambda: bars(admin)[0], '.apexcharts-tooltip')
    tooltip = shown.text.splitlines()
    assert names[host] in tooltip
    (reserved,) = (line for line in tooltip if ' to ' in line)
    for key, date in zip(
        ('start_date', 'end_date'), reserved.split(' to '), strict=True
    ):
        assert date.startswith(lease[key][:16])


def test_buttons_choose_the_days_that_are_shown(cloud, admin):
    cloud.give('tomorrow')
    admin.open(CALENDAR)
    admin.until(lambda: bars(admin))

    def wide():
        (bar,) = bars(admin)
        return bar.size['width']

    width = wide()
    for days, grows in ((1, True), (30, False), (7, True)):
        admin.click(admin.one(f'[data-calendar-days="{days}"]'))
        begin, end = dates(admin)
        assert (end - begin).days >= days
        admin.until(lambda: (wide() > width) is grows)  # noqa: B023
        width = wide()


@contextlib.contextmanager
def shown_to_members(cloud):
    """Let members see who has which host, as an operator may."""
    before = cloud.policy.read_text()
    cloud.policy.write_text(
        f'{before}reservations:hosts:allocations: rule:project_reader_api\n'
    )
    try:
        yield
    finally:
        cloud.policy.write_text(before)


def test_a_member_may_not_see_who_has_the_hosts(cloud, demo):
    cloud.give('one')
    demo.open(CALENDAR)
    assert demo.said() == 'Unable to load reservations.'


def test_a_member_whom_the_policy_allows_it_sees_numbers_of_hosts(cloud, demo):
    cloud.give('one')
    with shown_to_members(cloud):
        demo.open(CALENDAR)
        drawn = demo.until(lambda: bars(demo))
        assert len(drawn) == 1
        assert hosts(demo) == {each['id'] for each in cloud.pool().values()}


def test_there_is_no_calendar_of_other_types(demo):
    demo.open(CALENDAR.replace('host', 'instance'))
    assert 'Page Not Found' in demo.driver.title
