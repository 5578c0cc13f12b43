# SPDX-License-Identifier: Apache-2.0
"""Options with their defaults, as if ``nova.conf`` had none of ours."""

import dataclasses
from typing import Any

from oslo_config import cfg

from nova_reservations import conf
from nova_reservations.engine import settings


def defaults() -> cfg.ConfigOpts:
    """Return our options with their defaults; no file is read."""
    options = cfg.ConfigOpts()
    conf.register_opts(options)
    options([], default_config_files=[], default_config_dirs=[])
    return options


def engine_settings(**changes: Any) -> settings.Settings:
    """Return the engine's default settings with some changes."""
    return dataclasses.replace(settings.Settings.of(defaults()), **changes)
