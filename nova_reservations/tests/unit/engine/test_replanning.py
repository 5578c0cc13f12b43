# SPDX-License-Identifier: Apache-2.0
import dataclasses
import datetime

import pytest

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.engine.booking import replanning
from nova_reservations.objects import demand
from nova_reservations.objects import interval
from nova_reservations.objects import search
from nova_reservations.planner import replanning as planner

START = datetime.datetime(2030, 1, 1, tzinfo=datetime.UTC)
WANTED = search.Wanted(
    'one',
    demand.Demand(objects.HOST, 1, 1),
    interval.Interval(START, START + datetime.timedelta(hours=1)),
    held={1: 1},
)
FOUND = replanning.Found(planner.Room({'one': [2]}, ()), {2: 7}, ())


def test_room_is_for_what_was_wanted_when_it_was_found():
    room = replanning.Searched([WANTED], FOUND)
    assert room.of([dataclasses.replace(WANTED)]) == FOUND
    with pytest.raises(exception.Conflict):
        room.of([dataclasses.replace(WANTED, held={3: 1})])
