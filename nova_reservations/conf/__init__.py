# SPDX-License-Identifier: Apache-2.0
"""Every option, as data; nothing registers or reads them at import."""

from oslo_config import cfg

from nova_reservations.conf import reservations


def register_opts(conf: cfg.ConfigOpts) -> None:
    conf.register_group(reservations.GROUP)
    conf.register_opts(reservations.OPTS, group=reservations.GROUP)


def list_opts() -> list[tuple[cfg.OptGroup, list[cfg.Opt]]]:
    """For oslo-config-generator."""
    return [(reservations.GROUP, reservations.OPTS)]
