# SPDX-License-Identifier: Apache-2.0
import dataclasses
import datetime

from hypothesis import given
from hypothesis import strategies as st
import pytest

from nova_reservations import objects
from nova_reservations.engine import steps
from nova_reservations.engine.steps import Step
from nova_reservations.objects import states
from nova_reservations.testing import options

NOON = datetime.datetime(2030, 1, 1, 12, tzinfo=datetime.UTC)
OPTIONS = options.engine_settings()
START, WARNING, END = 60, 90, 150
"""Minutes after noon."""


def at(minute):
    return NOON + datetime.timedelta(minutes=minute)


def lease(status, warned=False, **columns):
    times = {
        states.EventType.START: START,
        states.EventType.BEFORE_END: WARNING,
        states.EventType.END: END,
    }
    plain = objects.Lease(
        id='lease',
        name='a lease',
        project_id='p',
        user_id='u',
        start_date=at(START),
        end_date=at(END),
        lease_type=states.LeaseType.SCHEDULED,
        max_retries=None,
        arrival=None,
        duration=None,
        status=states.Lease(status),
        status_reason=None,
        degraded=False,
        in_nova=False,
        prepared=False,
        version=0,
        attempt=0,
        claimed_by=None,
        due_at=None,
        created_at=NOON,
        updated_at=None,
        reservations=(),
        events=tuple(
            objects.Event(
                id=kind,
                lease_id='lease',
                event_type=kind,
                time=at(minute),
                status=states.Event.DONE
                if warned and kind == states.EventType.BEFORE_END
                else states.Event.UNDONE,
                created_at=NOON,
                updated_at=None,
            )
            for kind, minute in times.items()
        ),
    )
    return dataclasses.replace(plain, **columns)


@pytest.mark.parametrize(
    ('one', 'minute', 'expected'),
    [
        (lease('PENDING'), 49, None),
        (lease('IN_PROGRESS'), 0, Step.DRAIN),
        (lease('PENDING'), 50, Step.PREPARE),
        (lease('PENDING', prepared=True), 50, None),
        (lease('PENDING', prepared=True), 60, Step.START),
        (lease('PENDING'), 60, Step.START),
        (lease('PENDING'), 150, Step.MISS),
        (lease('STARTING'), 149, Step.START),
        (lease('STARTING'), 150, Step.MISS),
        (lease('ACTIVE', prepared=True), 89, None),
        (lease('ACTIVE'), 89, Step.UPDATE),
        (lease('ACTIVE', prepared=True), 90, Step.BEFORE_END),
        (lease('ACTIVE'), 90, Step.BEFORE_END),
        (lease('ACTIVE', warned=True), 90, Step.UPDATE),
        (lease('ACTIVE', prepared=True, warned=True), 149, None),
        (lease('ACTIVE', prepared=True, warned=True), 150, Step.END),
        (lease('ACTIVE', prepared=True), 150, Step.END),
        # The before_end action runs before the end, even if it is late.
        (lease('TERMINATING', in_nova=True), 150, Step.BEFORE_END),
        (lease('TERMINATING', warned=True, in_nova=True), 150, Step.END),
        (lease('ACTIVE', warned=True), 150, Step.END),
        (lease('TERMINATING', in_nova=True), 0, Step.END),
        (lease('DELETING', in_nova=True), 0, Step.END),
        (lease('ERROR', in_nova=True), 0, Step.END),
        (lease('ERROR'), 200, None),
        (lease('TERMINATED'), 200, None),
    ],
)
def test_the_next_step_follows_from_the_state_and_the_time(
    one, minute, expected
):
    assert steps.step(one, at(minute), OPTIONS) is expected


@pytest.mark.parametrize(
    ('one', 'minute'),
    [
        (lease('PENDING'), 50),
        (lease('PENDING', prepared=True), 60),
        (lease('ACTIVE', prepared=True), 90),
        (lease('ACTIVE', prepared=True, warned=True), 150),
        (lease('TERMINATED'), None),
        (lease('ERROR'), None),
    ],
)
def test_a_lease_with_nothing_to_do_is_due_at_its_next_step(one, minute):
    due = steps.due_at(one, at(0), OPTIONS)
    assert due == (None if minute is None else at(minute))


def test_nothing_is_prepared_where_the_operator_does_not_want_it():
    unprepared = options.engine_settings(prepare_ahead=datetime.timedelta(0))
    one = lease('PENDING')
    assert steps.step(one, at(59), unprepared) is None
    assert steps.due_at(one, at(0), unprepared) == at(START)


@given(
    one=st.builds(
        lease,
        st.sampled_from(states.Lease),
        warned=st.booleans(),
        prepared=st.booleans(),
        in_nova=st.booleans(),
    ),
    minute=st.integers(0, 200),
)
def test_a_lease_is_due_as_soon_as_there_is_a_step_and_not_before(one, minute):
    due = steps.due_at(one, at(minute), OPTIONS)
    upcoming = [
        later
        for later in range(minute, 201)
        if steps.step(one, at(later), OPTIONS)
    ]
    assert due == (at(upcoming[0]) if upcoming else None)


@pytest.mark.parametrize(
    ('minute', 'wait', 'expected'),
    [(0, 5, 5), (58, 5, 60), (88, 5, 90), (149, 5, 150), (150, 5, 155)],
)
def test_a_wait_does_not_outlast_the_next_event(minute, wait, expected):
    wait = datetime.timedelta(minutes=wait)
    assert steps.put_off(lease('ACTIVE'), at(minute), wait) == at(expected)
