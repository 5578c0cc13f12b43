# SPDX-License-Identifier: Apache-2.0
import datetime

from hypothesis import given
from hypothesis import strategies as st

from nova_reservations.objects import amounts
from nova_reservations.objects import interval

DAY = datetime.datetime(2030, 1, 1, tzinfo=datetime.UTC)
CLASSES = ('VCPU', 'MEMORY_MB', 'CUSTOM_X')

some = st.dictionaries(st.sampled_from(CLASSES), st.integers(0, 9))


def window(start, end):
    return interval.Interval(
        DAY + datetime.timedelta(hours=start),
        DAY + datetime.timedelta(hours=end),
    )


def held(start, end, **units):
    return amounts.Portion(window(start, end), units)


class TestAmounts:
    @given(some, some)
    def test_sums_and_differences_are_those_of_each_class(self, one, other):
        total = amounts.Amounts(one) + other
        left = amounts.Amounts(one) - other
        for name in CLASSES:
            assert total[name] == one.get(name, 0) + other.get(name, 0)
            assert left[name] == one.get(name, 0) - other.get(name, 0)

    @given(some, some)
    def test_amounts_fit_where_no_class_would_be_less_than_nothing(
        self, one, room
    ):
        left = amounts.Amounts(room) - one
        fits = all(units >= 0 for units in left.values())
        assert amounts.Amounts(one).fits(room) == fits

    @given(
        st.dictionaries(
            st.sampled_from(CLASSES), st.integers(1, 9), min_size=1
        ),
        st.dictionaries(st.sampled_from(CLASSES), st.integers(-3, 40)),
    )
    def test_as_many_slots_fit_as_can_be_put_in_one_after_the_other(
        self, slot, room
    ):
        slot, left, count = amounts.Amounts(slot), amounts.Amounts(room), 0
        while slot.fits(left):
            left, count = left - slot, count + 1
        assert slot.times_in(room) == count

    def test_the_lesser_is_what_both_say_of_a_class_or_the_only_one(self):
        room = amounts.Amounts({'VCPU': 4, 'DISK_GB': 0})
        other = {'VCPU': 2, 'MEMORY_MB': 9}
        lesser = {'VCPU': 2, 'DISK_GB': 0, 'MEMORY_MB': 9}
        assert room.lesser(other) == lesser
        assert room.lesser(amounts.NOTHING) == room

    def test_nothing_is_there_of_a_class_that_is_not_named(self):
        assert amounts.Amounts({'VCPU': 1})['DISK_GB'] == 0
        assert 'DISK_GB' not in amounts.Amounts({'VCPU': 1})

    def test_amounts_are_equal_to_a_mapping_of_the_same_units(self):
        assert amounts.Amounts({'VCPU': 1}) == {'VCPU': 1}
        assert amounts.Amounts({'VCPU': 1}) * 3 == {'VCPU': 3}
        assert len({amounts.Amounts({'VCPU': 1}), amounts.NOTHING}) == 2

    def test_amounts_do_not_change_with_what_they_were_made_of(self):
        units = {'VCPU': 1}
        one = amounts.Amounts(units)
        units['VCPU'] = 2
        assert one == {'VCPU': 1}


class TestPeak:
    def test_the_peak_is_the_most_at_one_instant_not_the_sum(self):
        some = [held(0, 2, VCPU=4), held(2, 4, VCPU=3), held(3, 5, VCPU=2)]
        assert amounts.peak(some, window(0, 5)) == {'VCPU': 5}

    def test_amounts_that_touch_the_window_do_not_count(self):
        some = [held(0, 2, VCPU=4), held(4, 5, VCPU=4)]
        assert not amounts.peak(some, window(2, 4))

    def test_classes_have_peaks_of_their_own(self):
        some = [held(0, 2, VCPU=4, DISK_GB=1), held(2, 4, DISK_GB=9)]
        assert amounts.peak(some, window(1, 3)) == {'VCPU': 4, 'DISK_GB': 9}

    @given(
        st.lists(
            st.tuples(
                st.integers(0, 9), st.integers(1, 10), st.integers(1, 5)
            ).filter(lambda one: one[0] < one[1])
        ),
        st.integers(0, 8),
        st.integers(1, 4),
    )
    def test_the_peak_is_what_a_look_at_each_hour_finds(
        self, some, start, hours
    ):
        busiest = max(
            sum(amount for begin, end, amount in some if begin <= hour < end)
            for hour in range(start, start + hours)
        )
        found = amounts.peak(
            [held(begin, end, VCPU=amount) for begin, end, amount in some],
            window(start, start + hours),
        )
        assert found['VCPU'] == busiest
