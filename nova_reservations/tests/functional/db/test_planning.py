# SPDX-License-Identifier: Apache-2.0
"""Plans, from the query to the choice, compared with brute force."""

import contextlib
import dataclasses

from hypothesis import assume
from hypothesis import given
from hypothesis import HealthCheck
from hypothesis import settings
from hypothesis import strategies as st

from nova_reservations.db import api
from nova_reservations.db.holdings import candidates
from nova_reservations.objects import search
from nova_reservations.planner import offers
from nova_reservations.planner import plan
from nova_reservations.tests import booking
from nova_reservations.tests import profile

HOURS = 12
"""The number of hours in which all bookings are; some of them are past."""


@dataclasses.dataclass(frozen=True)
class Booked:
    start: int
    end: int
    released: bool
    mine: bool


@dataclasses.dataclass(frozen=True)
class Enrolled:
    vcpus: int
    spread: int
    booked: tuple[Booked, ...]

    def taken(self, hour: int) -> bool:
        return any(
            one.start <= hour < one.end
            for one in self.booked
            if not (one.released or one.mine)
        )

    def occupied(self, now: int) -> bool:
        """Return whether a booking has ended, but is not released."""
        return any(
            one.end <= now
            for one in self.booked
            if not (one.released or one.mine)
        )

    def free(self, start: int, end: int, now: int) -> bool:
        return not (start <= now and self.occupied(now)) and not any(
            self.taken(hour) for hour in range(start, end)
        )


@st.composite
def spans(draw):
    start = draw(st.integers(0, HOURS - 1))
    return start, draw(st.integers(start + 1, HOURS))


@st.composite
def bookings(draw):
    """Bookings of a host, of which those not released do not overlap."""
    booked: list[Booked] = []
    for start, end in draw(st.lists(spans(), max_size=5)):
        released = draw(st.booleans())
        if released or not any(
            one.start < end and start < one.end
            for one in booked
            if not one.released
        ):
            # A reservation has at most one booking of a host.
            mine = not any(one.mine for one in booked) and draw(st.booleans())
            booked.append(Booked(start, end, released, mine))
    return tuple(booked)


clouds = st.lists(
    st.builds(Enrolled, st.integers(1, 4), st.integers(0, 5), bookings()),
    max_size=8,
)


class _Undone(Exception):
    """Rolls back what an example wrote."""


@given(
    cloud=clouds,
    span=spans(),
    now=st.integers(0, HOURS),
    minimum=st.integers(1, 4),
    more=st.integers(0, 3),
    vcpus=st.integers(1, 4),
    page=st.integers(0, 2),
    start_at=st.integers(0, 6),
)
@settings(
    profile.guard(150),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_a_plan_is_what_brute_force_allows(
    any_database: api.Database,
    cloud,
    span,
    now,
    minimum,
    more,
    vcpus,
    page,
    start_at,
):
    # Nobody asks for a window that is over.
    assume(span[1] > now)
    demand = booking.wanted(
        minimum, minimum + more, f'[">=", "$vcpus", "{vcpus}"]'
    )
    with contextlib.suppress(_Undone), any_database.writer() as session:
        mine, hosts = store(session, cloud)
        keep = [
            host_id
            for host_id, host in hosts.items()
            if any(one.mine for one in host.booked)
        ]
        wanted = search.Wanted(
            mine,
            demand,
            booking.window(*span),
            held=dict.fromkeys(keep, 1),
        )
        terms = search.Search(
            booking.at(now), start_at=start_at, ignore=[mine]
        )
        found = candidates.find(session, wanted, terms, page)
        shortage = candidates.shortage(session, wanted, terms)
        raise _Undone

    matching = {
        host_id for host_id, host in hosts.items() if host.vcpus >= vcpus
    }
    free = {host_id for host_id in matching if hosts[host_id].free(*span, now)}
    assert shortage == candidates.RefusalCounts(
        len(matching), len(matching - free), 0
    )
    planned = plan.assign([offers.Ask(wanted, found)], seed='lease')
    if len(free) < minimum:
        assert planned == offers.Shortage(mine)
        return
    ids = planned.slots[mine].keys()
    assert ids <= free
    assert len(ids) == min(len(free), demand.maximum)
    assert len(ids & set(keep)) == min(len(free & set(keep)), demand.maximum)
    for one in found:
        assert gaps(one) == hours_around(hosts[one.resource.id], *span, now)


def store(session, cloud):
    mine = booking.reservation(session, 0, HOURS)
    hosts = {}
    for number, host in enumerate(cloud):
        host_id = booking.enrol(
            session, f'host-{number}', spread=host.spread, vcpus=host.vcpus
        )
        hosts[host_id] = host
        for one in host.booked:
            booking.book(
                session,
                host_id,
                one.start,
                one.end,
                one.released,
                mine if one.mine else None,
            )
    return mine, hosts


def gaps(candidate):
    after = candidate.gap_after
    hour = booking.at(1) - booking.NOW
    return candidate.gap_before / hour, None if after is None else after / hour


def hours_around(host, start, end, now):
    before = start
    while before > now and not host.taken(before - 1):
        before -= 1
    after = end
    while after < HOURS and not host.taken(after):
        after += 1
    return start - before, None if after == HOURS else after - end
