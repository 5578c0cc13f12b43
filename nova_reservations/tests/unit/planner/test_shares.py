# SPDX-License-Identifier: Apache-2.0
import datetime

from hypothesis import given
from hypothesis import strategies as st
import pytest

from nova_reservations import objects
from nova_reservations.objects import demand
from nova_reservations.objects import interval
from nova_reservations.planner import plan as mixture
from nova_reservations.planner import shares
from nova_reservations.planner import whole as selection

AFFINITY = [None, True, False]
DAY = datetime.datetime(2030, 1, 1, tzinfo=datetime.UTC)


def window(start, end):
    return interval.Interval(
        DAY + datetime.timedelta(hours=start),
        DAY + datetime.timedelta(hours=end),
    )


def held(start, end, **amounts):
    return shares.Held(window(start, end), amounts)


def resource(number):
    return objects.Resource(
        number, objects.HOST, f'host-{number}', str(number)
    )


def room(number, vcpus, shared=False, kept=0):
    return shares.Room(
        resource(number), 10 + number, {'VCPU': vcpus}, shared, kept
    )


def share(slots, vcpus=1, affinity=None):
    return demand.Share(objects.HOST, slots, {'VCPU': vcpus}, affinity)


def ask(*vcpus, slots=1, each=1, affinity=None, must_keep=None):
    return shares.Ask(
        [room(number, count) for number, count in enumerate(vcpus)],
        share(slots, each, affinity),
        must_keep or {},
    )


def assign(*asks, **others):
    return shares.assign(asks, 'seed', **others)


class TestPeak:
    def test_it_is_the_most_at_one_instant_not_the_sum(self):
        some = [held(0, 2, VCPU=4), held(2, 4, VCPU=3), held(3, 5, VCPU=2)]
        assert shares.peak(some, window(0, 5)) == {'VCPU': 5}

    def test_what_touches_the_window_does_not_count(self):
        some = [held(0, 2, VCPU=4), held(4, 5, VCPU=4)]
        assert not shares.peak(some, window(2, 4))

    def test_each_class_has_its_own(self):
        some = [held(0, 2, VCPU=4, DISK_GB=1), held(2, 4, DISK_GB=9)]
        assert shares.peak(some, window(1, 3)) == {'VCPU': 4, 'DISK_GB': 9}

    @given(
        st.lists(
            st.tuples(
                st.integers(0, 9), st.integers(1, 10), st.integers(1, 5)
            ).filter(lambda one: one[0] < one[1])
        ),
        st.integers(0, 8),
        st.integers(1, 4),
    )
    def test_it_is_what_a_look_at_each_hour_finds(self, some, start, hours):
        busiest = max(
            sum(amount for begin, end, amount in some if begin <= hour < end)
            for hour in range(start, start + hours)
        )
        found = shares.peak(
            [held(begin, end, VCPU=amount) for begin, end, amount in some],
            window(start, start + hours),
        )
        assert found['VCPU'] == busiest


class TestDivisible:
    @pytest.mark.parametrize(
        ('amount', 'expected'),
        [(4, True), (2, False), (14, False), (7, False), (12, True)],
    )
    def test_a_slot_obeys_the_units_of_the_inventory(self, amount, expected):
        inventory = objects.Inventory('VCPU', 100, 0, 4, 12, 4, 1.0)
        assert shares.divisible({'VCPU': amount}, [inventory]) is expected

    def test_a_slot_is_never_larger_than_the_capacity(self):
        inventory = objects.Inventory('VCPU', 16, 8, 1, 16, 1, 1.0)
        assert shares.divisible({'VCPU': 8}, [inventory])
        assert not shares.divisible({'VCPU': 9}, [inventory])

    def test_a_class_that_is_not_there_has_no_slots(self):
        assert not shares.divisible({'VGPU': 1}, [])


class TestAssign:
    def test_slots_go_to_as_few_hosts_as_they_fit(self):
        assert assign(ask(2, 4, 8, slots=4)) == [{1: 4}]
        assert assign(ask(2, 4, 8, slots=10)) == [{2: 8, 1: 2}]

    def test_hosts_that_are_shared_already_go_first(self):
        rooms = [room(1, 8), room(2, 8, shared=True)]
        plan = assign(shares.Ask(rooms, share(2)))
        assert plan == [{2: 2}]

    def test_with_affinity_all_are_on_one_host(self):
        assert assign(ask(3, 4, slots=4, affinity=True)) == [{1: 4}]
        refused = assign(ask(3, 3, slots=4, affinity=True))
        assert refused == shares.TooFew(0)

    def test_with_anti_affinity_each_is_on_another_host(self):
        plan = assign(ask(3, 4, 5, slots=2, affinity=False))
        assert sorted(plan[0].values()) == [1, 1]
        refused = assign(ask(9, slots=2, affinity=False))
        assert refused == shares.TooFew(0)

    def test_what_one_takes_the_next_does_not_get(self):
        assert assign(ask(4, slots=3), ask(4, slots=2)) == shares.TooFew(1)
        assert assign(ask(4, slots=3), ask(4, slots=1)) == [{0: 3}, {0: 1}]

    def test_a_host_that_is_taken_as_a_whole_is_left_out(self):
        assert assign(ask(4, 4, slots=3), excluded={0}) == [{1: 3}]

    def test_an_active_one_keeps_its_slots_where_they_are(self):
        plan = assign(ask(4, 8, slots=5, must_keep={0: 2}))
        assert plan[0][0] >= 2
        assert sum(plan[0].values()) == 5
        refused = assign(ask(4, 8, slots=1, must_keep={0: 2}))
        assert refused == shares.TooFew(0)

    def test_an_active_one_grows_only_on_its_host_with_affinity(self):
        grown = ask(4, 8, slots=4, affinity=True, must_keep={0: 2})
        assert assign(grown) == [{0: 4}]
        too_big = ask(4, 8, slots=5, affinity=True, must_keep={0: 2})
        assert assign(too_big) == shares.TooFew(0)

    def test_an_active_one_grows_only_on_other_hosts_with_anti_affinity(self):
        grown = ask(4, 8, slots=2, affinity=False, must_keep={0: 1})
        assert assign(grown) == [{0: 1, 1: 1}]
        too_big = ask(4, slots=2, affinity=False, must_keep={0: 1})
        assert assign(too_big) == shares.TooFew(0)

    @given(
        st.lists(st.integers(0, 6), min_size=1, max_size=4),
        st.lists(
            st.tuples(
                st.integers(1, 4), st.integers(1, 3), st.sampled_from(AFFINITY)
            ),
            min_size=1,
            max_size=3,
        ),
        st.booleans(),
    )
    def test_what_first_fit_accepts_is_accepted_and_fits(
        self, vcpus, wanted, best_fit
    ):
        asks = [
            ask(*vcpus, slots=slots, each=each, affinity=affinity)
            for slots, each, affinity in wanted
        ]
        plan = assign(*asks, best_fit=best_fit)
        if isinstance(plan, shares.TooFew):
            assert not first_fit(vcpus, wanted)
            return
        for number, count in enumerate(vcpus):
            used = sum(
                got.get(number, 0) * each
                for got, (_, each, _) in zip(plan, wanted, strict=True)
            )
            assert used <= count
        for got, (slots, _, affinity) in zip(plan, wanted, strict=True):
            assert sum(got.values()) == slots
            assert affinity is not True or len(got) == 1
            assert affinity is not False or set(got.values()) == {1}


def first_fit(vcpus, wanted):
    """Whether all fit, each in the first host that has room for it."""
    left = list(vcpus)
    for slots, each, affinity in wanted:
        for number, has in enumerate(left):
            fit = min(has // each, slots)
            if affinity and fit < slots:
                continue
            if affinity is False:
                fit = min(fit, 1)
            left[number] -= fit * each
            slots -= fit
        if slots:
            return False
    return True


class TestMixture:
    def whole(self, *numbers):
        return selection.Ask(
            [
                selection.Candidate(
                    resource(number), number, datetime.timedelta(), None
                )
                for number in numbers
            ],
            demand.Demand(objects.HOST, 1, 1),
        )

    def test_no_host_is_given_whole_and_for_a_share(self):
        plan = mixture.assign([self.whole(0, 1)], [ask(4, 4, slots=4)], 'seed')
        [[one]], [slots] = plan.wholes, plan.shares
        assert one.resource.id not in slots

    def test_shares_go_first_where_whole_hosts_would_leave_them_without(self):
        for seed in 'abcdef':
            plan = mixture.assign(
                [self.whole(0, 1)], [ask(4, 1, slots=4)], seed
            )
            assert plan.shares == [{0: 4}]
            assert [one.resource.id for one in plan.wholes[0]] == [1]

    def test_what_an_active_share_keeps_is_not_taken_as_a_whole(self):
        kept = ask(4, slots=1, must_keep={0: 1})
        refused = mixture.assign([self.whole(0)], [kept], 'seed')
        assert refused == selection.TooFew(0)

    def test_all_that_is_booked_has_its_generation(self):
        asks = [ask(1, 1, slots=2)]
        plan = mixture.assign([self.whole(2)], asks, 'seed')
        assert mixture.generations(plan, asks) == {0: 10, 1: 11, 2: 2}
