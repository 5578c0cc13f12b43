# SPDX-License-Identifier: Apache-2.0
"""Metrics have names by the rules of Prometheus, and the documentation lists
them as the code does."""

import pathlib

from hypothesis import given
from hypothesis import strategies as st

from nova_reservations.engine.upkeep import service_metrics

PAGE = pathlib.Path(__file__).parents[4] / 'doc/source/admin/metrics.rst'


def rows(page: str) -> list[str]:
    """Return the rows of the table of metrics, each as one line."""
    table = page.partition('.. metrics\n')[2].partition('.. end of metrics')[0]
    return [' '.join(row.split()) for row in table.split('   * - ')[2:]]


def test_the_documentation_has_the_metrics_of_the_code():
    assert rows(PAGE.read_text()) == [
        f'``{service_metrics.PREFIX}{metric.name}`` '
        f'- {"counter" if metric.counts else "gauge"} '
        f'- {", ".join(f"``{label}``" for label in metric.labels) or "none"} '
        f'- {metric.help}'
        for metric in service_metrics.METRICS
    ]


def test_counters_and_only_these_end_with_total():
    for metric in service_metrics.METRICS:
        assert metric.name.endswith('_total') == metric.counts


def test_no_name_is_used_twice():
    names = [metric.name for metric in service_metrics.METRICS]
    assert len(set(names)) == len(names)


@given(st.lists(st.integers(0, 9), min_size=1), st.integers(1, 100))
def test_a_percentile_has_so_many_that_are_no_later(lateness, share):
    found = service_metrics.percentile(sorted(lateness), share)
    no_later = sum(each <= found for each in lateness)
    earlier = sum(each < found for each in lateness)
    assert 100 * no_later >= share * len(lateness) > 100 * earlier
