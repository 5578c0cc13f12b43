# SPDX-License-Identifier: Apache-2.0
"""Servers, configurations and drivers to measure with."""

from typing import Any

from oslo_config import cfg

from nova_reservations import conf
from nova_reservations.compute.metrics import base


def make_server(
    uuid: str = 'server-1',
    *,
    flavor: str = 'm1.large',
    vcpus: int = 4,
    extra_specs: dict[str, str] | None = None,
    metadata: dict[str, str] | None = None,
    **fields: Any,
) -> base.Server:
    return base.Server(
        **{
            'uuid': uuid,
            'name': 'instance-00000001',
            'display_name': 'web',
            'project_id': 'project-1',
            'user_id': 'user-1',
            'host': 'host1',
            'node': 'host1',
            'image_ref': 'image-1',
            'vm_state': 'active',
            'flavor': base.Flavor(
                '3', flavor, vcpus, 2048, 20, 0, extra_specs or {}
            ),
            'metadata': metadata,
        }
        | fields
    )


def make_conf(*files: Any, **groups: dict[str, Any]) -> cfg.ConfigOpts:
    """:param groups: group -> option -> value"""
    made = cfg.ConfigOpts()
    # Registered OptGroup objects share the values that are set; so each
    # configuration gets groups of its own.
    for group, options in conf.list_opts():
        made.register_opts(options, group=cfg.OptGroup(group.name))
    made([], default_config_files=[str(file) for file in files])
    for group, options in groups.items():
        for name, value in options.items():
            made.set_override(name, value, group=group)
    return made


def make_cpu(percent: float | None, at: float) -> dict[str, Any]:
    return {'at': at, 'time': 0, 'vcpus': 4, 'percent': percent}
