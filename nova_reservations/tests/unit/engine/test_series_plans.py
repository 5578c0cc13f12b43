# SPDX-License-Identifier: Apache-2.0
from nova_reservations.engine.booking import allocations
from nova_reservations.engine.leases import series_plans


def test_generations_of_a_series_are_the_oldest_that_a_plan_has_read():
    plans = series_plans.Plans(
        {
            'first': allocations.Planned([], {}, {1: 5, 2: 7}),
            'second': allocations.Planned([], {}, {1: 4, 3: 1}),
            'third': allocations.Planned([], {}, {1: 6}),
        },
        (),
    )
    assert plans.generations == {1: 4, 2: 7, 3: 1}
