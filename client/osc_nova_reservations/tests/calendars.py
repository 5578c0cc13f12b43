# SPDX-License-Identifier: Apache-2.0
"""Calendars for tests: some by hand, some that hypothesis generates."""

import datetime
import zoneinfo

from hypothesis import strategies as st

from osc_nova_reservations.calendar import model

DAY = datetime.timedelta(days=1)
MONDAY = datetime.datetime(2027, 3, 1, tzinfo=datetime.UTC)


def at(day: float) -> datetime.datetime:
    return MONDAY + day * DAY


WEEK = model.Window(MONDAY, at(7))
ROME = zoneinfo.ZoneInfo('Europe/Rome')
ZONES = (
    *('UTC', 'Europe/Rome', 'America/New_York', 'Asia/Kathmandu'),
    # The clocks change at midnight there, and by half an hour.
    *('Africa/Cairo', 'America/Havana', 'Australia/Lord_Howe'),
    # It has skipped a day, in 2011.
    'Pacific/Apia',
)


def bar(
    start: float,
    end: float,
    name: str = 'mine',
    kind: model.Kind = model.Kind.OWN,
    lease_id: str | None = None,
) -> model.Bar:
    return model.Bar(kind, at(start), at(end), name, lease_id)


def calendar(
    *rows: model.Row, window: model.Window = WEEK, leases: tuple = ()
) -> model.Calendar:
    return model.Calendar('Hosts', 'Host', window, at(2.5), rows, leases)


def lease(name: str = 'mine', lease_id: str = 'id-1') -> model.Lease:
    return model.Lease(lease_id, name, 'ACTIVE', '2 hosts', at(1), at(3))


# Whole minutes, so that the ends of some bars coincide with begins of others.
times = st.integers(-3 * 24 * 60, 12 * 24 * 60).map(
    lambda minutes: at(minutes / 24 / 60)
)


@st.composite
def bars(draw: st.DrawFn, names: st.SearchStrategy[str]) -> model.Bar:
    start, end = sorted(draw(st.lists(times, min_size=2, max_size=2)))
    return model.Bar(
        draw(st.sampled_from(model.Kind)),
        start,
        max(end, start + datetime.timedelta(minutes=1)),
        draw(names),
        draw(st.sampled_from([None, 'id-1', 'id-2'])),
    )


@st.composite
def windows(draw: st.DrawFn) -> model.Window:
    start, end = sorted(draw(st.lists(times, min_size=2, max_size=2)))
    return model.Window(start, max(end, start + datetime.timedelta(hours=1)))


@st.composite
def windows_of_zones(draw: st.DrawFn) -> model.Window:
    """Windows of any time in which clocks are changed as today."""
    start = draw(
        st.datetimes(
            datetime.datetime(2008, 1, 1),
            datetime.datetime(2030, 1, 1),
            timezones=st.just(datetime.UTC),
        )
    )
    length = draw(st.integers(1, 30 * 24 * 60))
    zone = zoneinfo.ZoneInfo(draw(st.sampled_from(ZONES)))
    return model.Window(
        start, start + datetime.timedelta(minutes=length), zone
    )


def many(names: st.SearchStrategy[str]) -> st.SearchStrategy[list[model.Bar]]:
    return st.lists(bars(names), max_size=8)
