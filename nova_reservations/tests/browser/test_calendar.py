# SPDX-License-Identifier: Apache-2.0
"""The calendar of hosts, which a script draws."""

import contextlib
import datetime

import pytest
from selenium.webdriver.common import keys

from nova_reservations.tests.browser.browsers import CALENDAR
from nova_reservations.tests.browser.browsers import LEASES

#: As wide as a bar of a lease is at least; each host has one of none, too.
BAR = 5


def bars(browser):
    """Return the bars of leases, when they have stopped to move."""

    def drawn():
        return [
            bar
            for bar in browser.visible('.apexcharts-rangebar-area')
            if bar.size['width'] > BAR
        ]

    return browser.still(drawn)


def width(browser):
    (bar,) = bars(browser)
    return bar.size['width']


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
    assert len(bars(admin)) == 2
    assert admin.path == CALENDAR
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
    (bar,) = bars(admin)
    tooltip = admin.hover(bar, '.apexcharts-tooltip').splitlines()
    assert names[host] in tooltip
    (reserved,) = (line for line in tooltip if ' to ' in line)
    for key, date in zip(
        ('start_date', 'end_date'), reserved.split(' to '), strict=True
    ):
        assert date.startswith(lease[key][:16])


@pytest.fixture
def a_day(cloud):
    """A lease of 24 hours from now on."""
    end = datetime.datetime.now(datetime.UTC) + datetime.timedelta(1)
    return cloud.give(
        'now', start_date='now', end_date=f'{end:%Y-%m-%d %H:%M}'
    )


def test_buttons_choose_the_days_that_are_shown(a_day, admin):
    admin.open(CALENDAR)
    week = width(admin)
    admin.click(admin.one('[data-calendar-days="1"]'))
    admin.until(lambda: width(admin) > 2 * week)
    begin, end = dates(admin)
    assert 1 <= (end - begin).days <= 2
    admin.click(admin.one('[data-calendar-days="30"]'))
    admin.until(lambda: width(admin) < week / 2)
    begin, end = dates(admin)
    assert 30 <= (end - begin).days <= 38
    admin.click(admin.one('[data-calendar-days="7"]'))
    admin.until(lambda: width(admin) == pytest.approx(week, rel=0.1))
    begin, end = dates(admin)
    assert 7 <= (end - begin).days <= 9


def test_dates_choose_the_days_that_are_shown(a_day, admin):
    admin.open(CALENDAR)
    before = width(admin)
    begin, _ = dates(admin)
    earlier = f'{begin - datetime.timedelta(7):%m/%d/%Y}'
    field = admin.one('#dateStart')
    field.send_keys(keys.Keys.CONTROL + 'a')
    field.send_keys(earlier + keys.Keys.TAB)
    admin.until(lambda: width(admin) < before * 0.7)


@contextlib.contextmanager
def shown_to_members(cloud):
    """Let members see who has which host, as an operator may."""
    before = cloud.policy.read_text()
    rule = 'reservations:hosts:allocations: rule:project_reader_or_admin'
    cloud.policy.write_text(f'{before}{rule}\n')
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
        assert len(bars(demo)) == 1
        assert hosts(demo) == {each['id'] for each in cloud.pool().values()}


def test_there_is_no_calendar_of_other_types(demo):
    demo.open(CALENDAR.replace('host', 'instance'))
    assert 'Page Not Found' in demo.driver.title
