# SPDX-License-Identifier: Apache-2.0
"""Requests while the clock of nova-api is wrong (issue 13, item 12).

See also tests/regressions/test_clock_jump.py.
"""

import datetime

import pytest

from nova_reservations.api import faults
from nova_reservations.engine import clocks


@pytest.fixture
def lease(member, enrolled):
    return member.lease()


@pytest.fixture
def apart(lease, services, clock, monkeypatch):
    """Set the clock of nova-api three minutes off: more than is allowed."""
    off = clocks.LIMIT + datetime.timedelta(minutes=1)
    monkeypatch.setattr(services.clock, '_own', lambda: clock.now + off)


def test_nothing_is_planned_by_a_clock_that_is_not_believed(
    apart, member, lease
):
    for answer in (
        member(
            'POST',
            '/leases',
            {
                'name': 'mine',
                'start_date': 'now',
                'duration': '1h',
                'reservations': [
                    {'resource_type': 'physical:host', 'min': 1, 'max': 1}
                ],
            },
        ),
        member('PUT', f'/leases/{lease["id"]}', {'end_date': 'now'}),
    ):
        assert answer.status_int == 503
        assert answer.headers['Retry-After'] == str(faults.RETRY_AFTER_SECONDS)
        assert 'The clocks of the cloud disagree' in answer.text


def test_to_look_any_clock_will_do(apart, member, lease):
    assert member('GET', f'/leases/{lease["id"]}').status_int == 200


def test_to_delete_any_clock_will_do(apart, member, lease):
    assert member('DELETE', f'/leases/{lease["id"]}').status_int == 204
