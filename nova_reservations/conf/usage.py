# SPDX-License-Identifier: Apache-2.0
"""The record of what was used, and how long it is kept."""

from oslo_config import cfg

OPTS = [
    cfg.BoolOpt(
        'lease_exists_notifications',
        default=True,
        help="""
Whether a notification ``lease.exists`` is sent at each full hour for each
active lease, with what it holds.

Possible values:

* True or False
""",
    ),
]
