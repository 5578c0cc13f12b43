# SPDX-License-Identifier: Apache-2.0
"""Releases of oslo.limit that are too old for unified limits."""

from importlib import metadata

from oslo_config import cfg
import pytest

from nova_reservations.cloud import unified_limits


def test_an_oslo_limit_that_can_not_tell_all_limits_is_refused(monkeypatch):
    monkeypatch.setattr(metadata, 'version', lambda _: '2.6.1')
    with pytest.raises(cfg.ConfigFileValueError, match='is installed'):
        unified_limits.UnifiedLimits(15)


def test_the_first_that_can_is_taken(monkeypatch):
    monkeypatch.setattr(metadata, 'version', lambda _: '2.7.0')
    unified_limits.UnifiedLimits(15)
