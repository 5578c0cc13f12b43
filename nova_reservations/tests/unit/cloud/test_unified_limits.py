# SPDX-License-Identifier: Apache-2.0
"""Unified limits, which keystone stores."""

import copy

from keystoneauth1 import exceptions as session_exceptions
from oslo_config import cfg
from oslo_config import fixture as config_fixture
from oslo_limit import fixture
import pytest

from nova_reservations import exception
from nova_reservations.cloud import unified_limits
from nova_reservations.objects import limits

pytestmark = pytest.mark.since_nova(
    32, reason='oslo.limit of 2025.1 can not tell all limits at once'
)

REGISTERED = {
    'servers': 10,
    'reservations:leases': 5,
    'reservations:hosts': 8,
    'reservations:slots': -1,
    'reservations:virtual:floatingip': 3,
    'reservations:virtual:network': -1,
}
ADDRESSES = {'virtual:floatingip': 3}
OF_PROJECTS = {'large': {'reservations:hosts': 80, 'servers': 100}}


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def keystone():
    """Keystone with limits; a test may silence it."""
    options = config_fixture.Config(cfg.CONF)
    with (
        options,
        fixture.LimitFixture(
            REGISTERED, copy.deepcopy(OF_PROJECTS)
        ) as keystone,
    ):
        options.config(endpoint_id='nova', group='oslo_limit')
        yield keystone


@pytest.fixture
def source(clock):
    return unified_limits.UnifiedLimits(15, clock)


def silence(keystone):
    error = session_exceptions.ConnectTimeout('10.0.0.1 does not answer')
    keystone.mock_conn.registered_limits.side_effect = error


def test_registered_limits_hold_for_all_projects(keystone, source):
    assert source('small') == limits.Limits(
        leases=5, hosts=8, resources=ADDRESSES
    )


def test_a_project_has_limits_of_its_own(keystone, source):
    assert source('large') == limits.Limits(
        leases=5, hosts=80, resources=ADDRESSES
    )


def test_a_change_is_seen_when_the_answer_is_old(keystone, source, clock):
    source('large')
    keystone.projlimits['large']['reservations:hosts'] = 7
    clock.now += 14
    assert source('large').hosts == 80
    clock.now += 1
    assert source('large').hosts == 7


def test_the_last_answer_holds_while_keystone_is_silent(
    keystone, source, clock
):
    source('small')
    silence(keystone)
    clock.now += 100
    assert source('small') == limits.Limits(
        leases=5, hosts=8, resources=ADDRESSES
    )


def test_a_silent_keystone_is_asked_by_one_request_at_a_time(
    keystone, source, clock
):
    source('small')
    silence(keystone)
    clock.now += 100
    asked = keystone.mock_conn.registered_limits.call_count
    for _ in range(5):
        source('small')
    assert keystone.mock_conn.registered_limits.call_count == asked + 1


def test_without_an_answer_nobody_is_let_in_and_no_address_is_told(
    keystone, source
):
    silence(keystone)
    with pytest.raises(exception.LimitsUnknown) as refusal:
        source('small')
    assert refusal.value.public == (
        'The limits of this project are not known: keystone can not be '
        'reached at this moment'
    )


def test_a_request_after_a_silence_does_not_wait_for_it_too(
    keystone, source, clock
):
    source('small')
    silence(keystone)
    clock.now += 100
    asked = keystone.mock_conn.registered_limits.call_count
    for project in 'large', 'other', 'large':
        with pytest.raises(exception.LimitsUnknown):
            source(project)
    assert source('small').hosts == 8
    assert keystone.mock_conn.registered_limits.call_count == asked + 1


def test_a_single_request_finds_out_whether_keystone_is_back(
    keystone, source, clock
):
    silence(keystone)
    for seconds in 0, unified_limits.PAUSE - 1:
        clock.now += seconds
        with pytest.raises(exception.LimitsUnknown):
            source('large')
    answers = keystone.mock_conn.registered_limits

    def others_do_not_wait(**_):
        with pytest.raises(exception.LimitsUnknown):
            source('other')
        return answers.return_value

    answers.side_effect = others_do_not_wait
    answers.return_value = []
    clock.now += 1
    assert source('large').hosts == 80
    answers.side_effect = None
    assert source('other') == limits.Limits()


def test_no_more_projects_are_remembered_than_are_worth_it(
    keystone, source, monkeypatch
):
    monkeypatch.setattr(unified_limits, 'MOST', 2)
    for project in 'abc':
        source(project)
    asked = keystone.mock_conn.registered_limits.call_count
    source('b')
    source('c')
    assert keystone.mock_conn.registered_limits.call_count == asked
