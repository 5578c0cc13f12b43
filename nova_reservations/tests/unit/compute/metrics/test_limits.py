# SPDX-License-Identifier: Apache-2.0
import hypothesis
from hypothesis import strategies as st
import pytest

from nova_reservations.compute.metrics import thresholds
from nova_reservations.tests.unit.compute.metrics import builders


def told(subject, limit, *values, step=60):
    """Return (index, exceeded) of the crossings that are reported."""
    crossings = [
        (number, subject.look(limit, value, number * step))
        for number, value in enumerate(values)
    ]
    return [(number, each.exceeded) for number, each in crossings if each]


class TestGrammar:
    def test_the_pipe_of_five_gigabits(self):
        limit = thresholds.parse(
            'bandwidth.out_bytes_rate over 5Gbit until 4Gbit for 300 '
            'where flavor=net.* and metadata:tier=gold'
        )
        assert limit.bound == 5e9 / 8
        assert limit.until == 4e9 / 8
        assert limit.hold == 300
        assert limit.where == (('flavor', 'net.*'), ('metadata:tier', 'gold'))

    def test_a_limit_without_more_words_is_crossed_at_once_both_ways(self):
        limit = thresholds.parse('cpu.percent over 95%')
        assert (limit.bound, limit.until, limit.hold) == (95, 95, 0)

    def test_a_limit_of_the_host_is_for_no_server(self):
        limit = thresholds.parse('host cpu.percent over 90')
        assert limit.is_for(None)
        assert not limit.is_for(builders.make_server())

    @pytest.mark.parametrize(
        ('text', 'why'),
        [
            ('', 'is not of the form'),
            ('cpu.percent', 'is not of the form'),
            ('cpu.percent above 5', 'is not of the form'),
            ('cpu.percent over 5 for ever', 'is not of the form'),
            ('cpu.load over 5', 'there is no measure cpu.load'),
            ('cpu.percent over much', ': "much" is no number'),
            ('cpu.percent over 5parsec', ': "5parsec" is no number'),
            ('cpu.percent over -5', ': "-5" is no number'),
            ('cpu.percent over 90 until 95', 'cleared while it is exceeded'),
            ('cpu.percent under 10 until 5', 'cleared while it is exceeded'),
            ('cpu.percent over 5 where colour=red', 'is not PROPERTY=PATTERN'),
            ('cpu.percent over 5 where flavor=', 'is not PROPERTY=PATTERN'),
            ('cpu.percent over 5 where metadata:=x', 'is not PROPERTY'),
            ('host cpu.percent over 5 where flavor=x', 'no properties'),
        ],
    )
    def test_text_that_is_no_limit_says_why(self, text, why):
        with pytest.raises(thresholds.NotALimit, match=why):
            thresholds.parse(text)

    @hypothesis.given(st.text())
    def test_any_text_is_a_limit_or_says_why_not(self, text):
        try:
            limit = thresholds.parse(text)
        except thresholds.NotALimit as error:
            # Members of projects write the text, and it gets into the log.
            assert str(error).isprintable()
        else:
            assert limit.text.isprintable()


class TestWhom:
    @pytest.mark.parametrize(
        ('where', 'meant'),
        [
            ('flavor=m1.large', True),
            ('flavor=m1.*', True),
            ('flavor=M1.large', False),
            ('flavor=m1', False),
            ('project=project-1 and user=user-1', True),
            ('project=project-1 and user=user-2', False),
            ('server=server-1', True),
            ('name=we?', True),
            ('extra_spec:tier=gold', True),
            ('extra_spec:tier=silver', False),
            ('extra_spec:other=?*', False),
            ('metadata:team=a', True),
            ('metadata:none=?*', False),
        ],
    )
    def test_a_server_is_meant_if_all_of_it_fits(self, where, meant):
        server = builders.make_server(
            extra_specs={'tier': 'gold'}, metadata={'team': 'a'}
        )
        limit = thresholds.parse(f'cpu.percent over 5 where {where}')
        assert limit.is_for(server) is meant

    def test_metadata_that_nobody_has_read_fit_nothing(self):
        limit = thresholds.parse('cpu.percent over 5 where metadata:a=b')
        assert not limit.is_for(builders.make_server(metadata=None))


class TestCrossing:
    def test_crossings_are_told_once_each(self):
        limit = thresholds.parse('cpu.percent over 90')
        seen = told(thresholds.Subject(), limit, 50, 95, 99, 91, 90, 20, 95)
        assert seen == [(1, True), (4, False), (6, True)]

    def test_under_works_the_other_way(self):
        limit = thresholds.parse('cpu.percent under 5 until 10')
        seen = told(thresholds.Subject(), limit, 50, 4, 3, 7, 9, 10, 4)
        assert seen == [(1, True), (5, False), (6, True)]

    def test_a_crossing_must_last(self):
        limit = thresholds.parse('cpu.percent over 90 for 120')
        seen = told(thresholds.Subject(), limit, 95, 95, 50, 95, 95, 95, 95)
        assert seen == [(5, True)]

    def test_a_crossing_stays_as_it_is_between_the_limit_and_until(self):
        limit = thresholds.parse('cpu.percent over 90 until 70')
        seen = told(thresholds.Subject(), limit, 80, 95, 80, 95, 71, 70, 80)
        assert seen == [(1, True), (5, False)]

    def test_a_limit_that_is_raised_clears(self):
        subject = thresholds.Subject()
        assert told(subject, thresholds.parse('cpu.percent over 50'), 80)
        raised = thresholds.parse('cpu.percent over 90')
        assert told(subject, raised, 80) == [(0, False)]

    def test_a_limit_that_is_lowered_is_not_told_again(self):
        subject = thresholds.Subject()
        assert told(subject, thresholds.parse('cpu.percent over 50'), 80)
        assert told(subject, thresholds.parse('cpu.percent over 40'), 80) == []

    def test_a_limit_that_goes_clears(self):
        subject = thresholds.Subject()
        limit = thresholds.parse('cpu.percent over 50')
        told(subject, limit, 80)
        [crossing] = subject.keep([])
        assert not crossing.exceeded
        assert subject.keep([]) == []

    def test_a_limit_that_goes_unexceeded_says_nothing(self):
        subject = thresholds.Subject()
        told(subject, thresholds.parse('cpu.percent over 50'), 20)
        assert subject.keep([]) == []

    @hypothesis.given(
        st.lists(st.integers(0, 100), max_size=50),
        st.integers(20, 80),
        st.integers(0, 20),
        st.integers(0, 5),
    )
    def test_crossings_alternate_and_are_as_an_oracle_says(
        self, values, bound, slack, hold
    ):
        limit = thresholds.parse(
            f'cpu.percent over {bound} until {bound - slack} for {hold * 60}'
        )
        seen = told(thresholds.Subject(), limit, *values)
        assert seen == _oracle(values, bound, bound - slack, hold)
        assert [each for _, each in seen] == [
            number % 2 == 0 for number in range(len(seen))
        ]


def _oracle(values, bound, until, hold):
    """Return the crossings, by looking back from each moment."""
    seen, exceeded, cleared_at = [], False, -1
    for now, value in enumerate(values):
        if exceeded:
            if value <= until:
                seen.append((now, False))
                exceeded, cleared_at = False, now
            continue
        first = now - hold
        if first > cleared_at and all(
            each > bound for each in values[first : now + 1]
        ):
            seen.append((now, True))
            exceeded = True
    return seen
