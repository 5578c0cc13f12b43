# SPDX-License-Identifier: Apache-2.0
"""Leases that wait for hosts by conditions that Nova judges cost others
little."""

import json

import pytest

from nova_reservations.db.resources import judgements
from nova_reservations.testing import fake_hosts
from nova_reservations.testing.region import minutes
from nova_reservations.tests.functional.engine.test_flavor_specs import change

HOSTS = ('one', 'two', 'three', 'four')


def features(name):
    """Return requirements of hosts with a CPU that has this feature."""
    return {
        'resource_properties': json.dumps(['<in>', '$cpu_info:features', name])
    }


@pytest.fixture
def judged(monkeypatch):
    """Record the questions that Nova's matcher gets."""
    asked = []
    judge = fake_hosts.host_specs.passes

    def passes(*args):
        asked.append(args)
        return judge(*args)

    monkeypatch.setattr(fake_hosts.host_specs, 'passes', passes)
    return asked


@pytest.fixture
def region(make_region, judged):
    region = make_region(*HOSTS)
    for name in HOSTS:
        change(region, name, cpu='{"features": ["aes"]}')
    return region


def waiting(region, *names):
    """Return a lease of all hosts, and leases that wait for features."""
    holder = region.active_lease(end=600, minimum=len(HOSTS))
    return holder, [region.retry(end=60, **features(name)) for name in names]


def walk(region, judged):
    """Let a second pass, and do what is due; return how often Nova judges."""
    judged.clear()
    region.now += minutes(1 / 60)
    region.work()
    return len(judged)


def test_a_condition_is_judged_once_however_many_hosts_have_the_value(
    make_region, judged
):
    costs = []
    for names in (HOSTS[:2], HOSTS):
        region = make_region(*names)
        for name in names:
            change(region, name, cpu='{"features": ["aes"]}')
        holder = region.active_lease(end=600, minimum=len(names))
        leases = [region.retry(end=60, **features(name)) for name in 'xyz']
        region.delete(holder)
        costs.append(walk(region, judged))
        assert {region.status(lease) for lease in leases} == {'CREATING'}
    assert costs[0] == costs[1]


def test_a_walk_judges_so_much_and_the_next_goes_on(
    region, judged, monkeypatch
):
    holder, leases = waiting(region, 'v', 'w', 'x', 'y', 'z')
    last = region.retry(end=60, minimum=2)
    monkeypatch.setattr(judgements, 'MOST', 2)
    region.delete(holder)
    for _ in range(2):
        walk(region, judged)
        assert region.status(last) == 'CREATING'
    walk(region, judged)
    assert region.status(last) == 'ACTIVE'
    assert {region.status(lease) for lease in leases} == {'CREATING'}


def test_a_lease_that_can_not_be_judged_any_more_stops_none_behind(
    region, judged, monkeypatch
):
    holder, [lost] = waiting(region, 'aes')
    behind = region.retry(end=60, minimum=2)
    change(region, 'one', cpu='{"features": ["aes", "avx"]}', rack='1')
    monkeypatch.setattr(judgements, 'MOST_VALUES', 1)
    region.delete(holder)
    for _ in range(3):
        walk(region, judged)
    assert region.status(behind) == 'ACTIVE'
    assert region.status(lost) == 'ERROR'
    assert 'more than 1 values' in region.see(lost).status_reason
