# SPDX-License-Identifier: Apache-2.0
"""The pages of operators name rules and alerts that there are."""

import pathlib
import re

from oslo_policy import policy
import pytest
import yaml

from nova_reservations import policies

_ROOT = pathlib.Path(__file__).parents[3]
_SOURCE = _ROOT / 'doc' / 'source'
_ALERTS = _ROOT / 'etc/prometheus/nova-reservations-alerts.yml'

RULES = re.findall(
    r'^ +("reservations:[\w:-]+": .*)$',
    '\n'.join(path.read_text() for path in _SOURCE.rglob('*.rst')),
    re.MULTILINE,
)


@pytest.mark.parametrize('line', sorted(set(RULES)))
def test_a_rule_that_is_shown_is_one_of_ours_and_is_parsed(line):
    [(name, check)] = yaml.safe_load(line).items()

    assert name in {rule.name for rule in policies.list_rules()}
    parsed = policy.Rules.from_dict({'rule': check})['rule']
    assert check == '!' or str(parsed) != '!'


def test_the_page_of_alerts_has_all_alerts():
    page = (_SOURCE / 'admin' / 'alerts.rst').read_text()
    groups = yaml.safe_load(_ALERTS.read_text())['groups']
    alerts = {rule['alert'] for group in groups for rule in group['rules']}

    assert set(re.findall(r'^   \* - ``(\w+)``', page, re.M)) == alerts
