# SPDX-License-Identifier: Apache-2.0
from hypothesis import given
from hypothesis import strategies as st
import pytest

from nova_reservations import exception
from nova_reservations.tracking import stats

NONE = stats.Plugins({}, {})
NAMES = st.from_regex(stats.NAME, fullmatch=True).filter(
    lambda name: name != stats.PLUGINS
)
NUMBERS = st.integers(-(2**53), 2**53) | st.floats(
    allow_nan=False, allow_infinity=False
)
PLAIN = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=5,
)
REPORTS = st.builds(
    stats.Report,
    st.integers(0, 9),
    st.dictionaries(st.text(max_size=5), PLAIN, max_size=3),
)


def report(**figures):
    return stats.Report(1, figures)


@given(st.dictionaries(NAMES, REPORTS, max_size=3))
def test_stats_are_read_as_plugins_said_them(reports):
    plugins = stats.Plugins(
        {name: each.version for name, each in reports.items()},
        {'rdt': 'there is no resctrl'},
    )
    keys = stats.encode(reports, plugins)
    assert all(isinstance(text, str) for text in keys.values())
    for name, said in reports.items():
        assert stats.decode(keys, name) == said
    assert stats.plugins(keys) == plugins


def test_the_same_figures_are_the_same_text():
    one = stats.encode({'cu': report(total=4, used=1)}, NONE)
    other = stats.encode({'cu': report(used=1, total=4)}, NONE)
    assert one == other


def test_there_is_nothing_to_read_where_nothing_was_said():
    for found in ({}, None, {'io_workload': '0'}):
        assert stats.decode(found, 'cu') is None
        assert stats.plugins(found) is None


@pytest.mark.parametrize(
    'text',
    [
        '',
        '7',
        'null',
        '[]',
        '{}',
        '{"figures":{"total":4},"format":1',
        '{"figures":{"total":4},"format":1}',
        '{"figures":[],"format":1,"version":1}',
        '{"figures":{},"format":1,"version":true}',
        '{"figures":{},"format":2,"version":1}',
        '{"figures":{"total":NaN},"format":1,"version":1}',
        '{"format":1,"off":{},"running":{"cu":"1"}}',
        '[' * 5000,
        ' ' * 9000,
        4,
    ],
)
def test_foreign_or_cut_off_text_is_a_typed_error(text):
    for name, read in (
        ('cu', lambda found: stats.decode(found, 'cu')),
        (stats.PLUGINS, stats.plugins),
    ):
        with pytest.raises(exception.UnreadableStats, match=name):
            read({stats.PREFIX + name: text})


@given(st.text(max_size=50))
def test_no_text_is_read_wrongly(text):
    try:
        stats.decode({'reservations:cu': text}, 'cu')
    except exception.UnreadableStats:
        pass
    else:
        pytest.fail('read what nobody wrote')


@pytest.mark.parametrize(
    'figures',
    [
        {'total': float('nan')},
        {'total': {1}},
        {1: 2},
        {'sizes': (1, 2)},
        7,
        None,
    ],
)
def test_figures_that_no_scheduler_could_read_are_refused(figures):
    with pytest.raises(exception.InvalidFigures, match='figures of cu '):
        stats.encode({'cu': stats.Report(1, figures)}, NONE)


@pytest.mark.parametrize('name', ['plugins', '', 'CU', 'a b', 'x' * 64])
def test_a_name_that_is_no_key_is_refused(name):
    with pytest.raises(exception.InvalidFigures):
        stats.encode({name: report(total=1)}, NONE)


def test_too_much_is_refused_and_the_one_that_says_most_is_named():
    talker = report(total=1, words='x' * 8000)
    reports = {'cu': report(total=1), 'talker': talker}
    assert stats.encode(reports, NONE)
    reports['other'] = report(words='y' * 200)
    with pytest.raises(exception.InvalidFigures) as refusal:
        stats.encode(reports, NONE)
    assert refusal.value.values['plugin'] == 'talker'


def test_encoded_stats_are_never_over_the_limit():
    reports = {}
    for number in range(200):
        reports[f'plugin-{number}'] = report(total=number, used=number)
        try:
            keys = stats.encode(reports, NONE)
        except exception.InvalidFigures:
            break
        assert sum(len(k) + len(v) for k, v in keys.items()) <= stats.LIMIT
    else:
        pytest.fail('no limit was found')
