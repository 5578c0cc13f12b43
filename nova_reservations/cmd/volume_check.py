# SPDX-License-Identifier: Apache-2.0
"""The upgrade check of Cinder, for clouds where volumes can be leased."""

from collections.abc import Iterator

from oslo_config import cfg

from nova_reservations import exception
from nova_reservations import ports


def failures(cloud: ports.Cloud, conf: cfg.ConfigOpts) -> Iterator[str]:
    """Yield why volumes can't be created, or kept at the end."""
    try:
        cloud.volumes.acts_everywhere()
        known = {each.name for each in cloud.volumes.find_types()}
    except exception.CloudUnavailable as error:
        yield str(error)
        return
    kept = conf.reservations.kept_volume_type
    if kept and kept not in known:
        yield (
            f'Cinder has no volume type {kept}, which [reservations] '
            'kept_volume_type names.'
        )


def warnings(cloud: ports.Cloud) -> Iterator[str]:
    """Yield a warning if volumes can't be created in most projects."""
    if not cloud.volumes.acts_everywhere():
        yield (
            'The user in [service_user] has no role that projects inherit, '
            'so that volumes can be leased in no project but those in which '
            'it has one: openstack role add --inherited --domain DOMAIN '
            '--user USER member'
        )
