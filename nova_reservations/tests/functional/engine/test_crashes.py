# SPDX-License-Identifier: Apache-2.0
"""A worker is killed before each of its steps, and another one goes on.

A step is a transaction that writes, or a write to the cloud. A kill before a
step is also a kill after the step before. The final state must be that of a
run without a kill.
"""

import contextlib
import json

import pytest

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.testing import fake_cloud
from nova_reservations.testing.region import minutes
from nova_reservations.testing.steps import Killed
from nova_reservations.testing.steps import Steps
from nova_reservations.tests import profile
from nova_reservations.tests.functional.engine import recorded
from nova_reservations.tests.functional.engine import stories

pytestmark = pytest.mark.fuzz


def kill(step):
    raise Killed(step)


def outcome(region, worker=None):
    """Return the state when all present claims have expired, and the final
    state."""
    # An end that takes three steps, with a look before each, is over by then.
    for pause in (0.6, 0.1, 0.1):
        region.now += minutes(pause)
        region.work(worker)
    soon = comparable(region)
    assert recorded.going_on(region) == recorded.held(region)
    region.forward(until=stories.THE_END, by=worker)
    return soon, comparable(region)


def comparable(region):
    """Return the picture as text. A number replaces each id that differs from
    run to run."""
    picture = region.picture()
    ids = [
        payload['lease_id']
        for kind, payload in region.notes
        if kind == 'lease.create'
    ]
    for lease in picture['leases'].values():
        for part in (*lease['reservations'], *lease['events']):
            ids.append(part['id'])
    # Sets have no order, so _written sorts them.
    text = json.dumps(picture, default=_written, sort_keys=True)
    for number, known in enumerate(ids):
        text = text.replace(known, f'<{number}>')
    return text


def _written(part):
    return sorted(part) if isinstance(part, set | frozenset) else repr(part)


@pytest.mark.parametrize('story', stories.ALL)
def test_another_worker_finishes_what_a_killed_one_began(make_region, story):
    region, _ = stories.told(make_region, story)
    region.work()
    undisturbed = outcome(region)
    for number in profile.steps():
        region, _ = stories.told(make_region, story)
        with Steps(region, number, kill) as steps:
            victim = region.worker('victim')
            with contextlib.suppress(Killed):
                victim.tick(region.now)
            victim.drain()
        if not steps.reached:
            break
        assert outcome(region, region.worker('other')) == undisturbed
    assert number >= 3


def test_leases_that_start_together_start_whoever_is_killed(make_region):
    for number in profile.steps():
        region = make_region('one', 'two', 'three')
        leases = [region.lease(start=20, end=200) for _ in range(3)]
        region.forward(until=15)
        # One of the leases is not prepared any more.
        region.aggregate_of(leases[1]).clear()
        region.now += minutes(5)
        with Steps(region, number, kill) as steps:
            victim = region.worker('victim')
            with contextlib.suppress(Killed):
                victim.tick(region.now)
            victim.drain()
        region.now += minutes(0.6)
        region.work(region.worker('other'))
        for lease in leases:
            assert region.status(lease) == 'ACTIVE'
            assert region.aggregate_of(lease) == region.hosts_of(lease)
            assert region.told(lease).count('event.start_lease') <= 1
        if not steps.reached:
            break
    assert number >= 3


@pytest.mark.parametrize('undo', [True, False])
def test_a_killed_enrolment_is_finished_by_another(make_region, undo):
    for number in profile.steps():
        region = make_region('one')
        region.cloud.known['two'] = fake_cloud.facts('two')
        if undo:
            server = region.cloud.boot('two', 'somebody')
        with Steps(region, number, kill) as steps:
            with contextlib.suppress(Killed, exception.HostInUse):
                region.enrol('two', gpu='wrong')
        if not steps.reached:
            break
        assert 'two' not in region.hosts_of(region.lease(end=1))
        if undo:
            del region.cloud.instances[server]
        assert region.enrol('two', ssd='yes').properties == {'ssd': 'yes'}
        assert region.cloud.pool == region.cloud.marked == {'one', 'two'}
        assert region.hosts_of(region.lease(start=5, minimum=2)) == {
            'one',
            'two',
        }
    assert number > 4


def test_a_killed_removal_is_finished_by_another(make_region):
    for number in profile.steps():
        region = make_region('one', 'two')
        (host,) = region.hosts.find(objects.HostQuery(name='two'))
        with Steps(region, number, kill) as steps:
            with contextlib.suppress(Killed):
                region.hosts.enrolment.remove(host.id, region.now)
        if not steps.reached:
            break
        region.hosts.enrolment.remove(host.id, region.now)
        assert region.cloud.pool == region.cloud.marked == {'one'}
        assert not region.hosts.is_enrolled('two')
    assert number >= 3
