# SPDX-License-Identifier: Apache-2.0
"""Plugins for the previous release can still import their base classes."""

import importlib
import runpy
import sys

import pytest

from nova_reservations import ports
from nova_reservations.plugins.drain_strategies import base as drain_strategies
from nova_reservations.plugins.monitors import base as monitors


@pytest.mark.parametrize(
    ('old', 'new', 'name'),
    [
        ('asked', 'tracking.extra_specs', 'amount'),
        ('demand', 'objects.demand', 'Demand'),
        ('requirements', 'objects.requirements', 'parse'),
        ('states', 'objects.states', 'Lease'),
        ('stats', 'tracking.stats', 'decode'),
        ('plugins.base', 'plugins.resource_types.base', 'ResourceType'),
        ('plugins.before_end', 'plugins.event_actions.offered', 'WithServers'),
        ('plugins.endings', 'plugins.resource_types.end_actions', 'leave'),
        (
            'plugins.drain_strategy',
            'plugins.drain_strategies.base',
            'DrainStrategy',
        ),
        ('plugins.event_action', 'plugins.event_actions.base', 'EventAction'),
        ('plugins.monitor', 'plugins.monitors.base', 'Monitor'),
        ('values', 'objects', 'Lease'),
    ],
)
def test_an_old_path_gives_the_same_class_and_names_the_new_path(
    old, new, name
):
    sys.modules.pop(f'nova_reservations.{old}', None)
    with pytest.warns(DeprecationWarning, match=f'nova_reservations.{new}'):
        module = importlib.import_module(f'nova_reservations.{old}')
    wanted = importlib.import_module(f'nova_reservations.{new}')
    assert getattr(module, name) is getattr(wanted, name)


def test_the_warning_names_the_file_that_imports_an_old_path(tmp_path):
    sys.modules.pop('nova_reservations.plugins.base', None)
    plugin = tmp_path / 'plugin.py'
    plugin.write_text(
        'from nova_reservations.plugins.base import ResourceType\n'
    )
    with pytest.warns(DeprecationWarning) as warned:
        runpy.run_path(str(plugin))
    assert [item.filename for item in warned] == [str(plugin)]


def test_a_strategy_of_the_release_before_may_name_its_donor():
    sys.modules.pop('nova_reservations.plugins.drain_strategy', None)
    with pytest.warns(DeprecationWarning):
        old = importlib.import_module(
            'nova_reservations.plugins.drain_strategy'
        )
    assert old.Donor is drain_strategies.DrainableHost


class TestMonitorsOfTheReleaseBefore:
    class OldMonitor(monitors.Monitor):
        resource_type = 'old'
        event_types = ('it.fails', 'it.works')

        @property
        def topics(self):
            return ['one', 'two']

    def test_their_topics_are_listened_to(self):
        monitor = self.OldMonitor(None, None)
        with pytest.warns(DeprecationWarning, match='Return subscriptions'):
            found = monitor.subscriptions
        assert found == [
            monitors.Subscription('one', ('it.fails', 'it.works')),
            monitors.Subscription('two', ('it.fails', 'it.works')),
        ]

    def test_what_only_polls_subscribes_to_nothing(self):
        class Polling(monitors.Monitor):
            resource_type = 'polled'

        assert Polling(None, None).subscriptions == []


@pytest.mark.parametrize(
    ('old', 'new'), [('Order', 'RequestKey'), ('Tenant', 'PlacedServer')]
)
def test_a_class_of_the_ports_is_found_by_its_old_name(old, new):
    with pytest.warns(DeprecationWarning, match=f'Use ports.{new}'):
        assert getattr(ports, old) is getattr(ports, new)


def test_an_unknown_name_of_the_ports_is_refused_as_ever():
    with pytest.raises(AttributeError, match='no attribute Nothing'):
        ports.Nothing  # noqa: B018
