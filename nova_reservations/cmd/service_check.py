# SPDX-License-Identifier: Apache-2.0
"""Upgrade checks that ask other services, and processes of Nova."""

from collections.abc import Iterator

from keystoneauth1 import exceptions as ks_exc
from oslo_config import cfg

from nova_reservations import exception
from nova_reservations import ports
from nova_reservations.cloud import conductors
from nova_reservations.cloud import credentials
from nova_reservations.engine import settings

UNASKED = (cfg.Error, ks_exc.ClientException, exception.ReservationsError)
"""Why a check can't ask: an invalid option, among them an auth_type that does
not exist, or a service that does not answer."""


def token_failures() -> Iterator[str]:
    """Yield why there is no token of ``[service_user]``."""
    try:
        credentials.context()
    except exception.CloudRefused:
        yield (
            '[service_user] of nova.conf has no credentials: set auth_type, '
            'auth_url, username, password, project_name and the domains, as '
            'in [keystone_authtoken]'
        )
    # An auth_type that does not exist, or lacks an option, is one of these.
    except (exception.CloudUnavailable, ks_exc.ClientException) as error:
        yield (
            'No token is got with the credentials in [service_user] of '
            f'nova.conf: {error}. Servers can not be shelved, moved or '
            'snapshotted without one.'
        )


def bus_failures() -> Iterator[str]:
    """Yield which hosts of the message bus can't be connected to."""
    for lost in conductors.unreachable():
        yield (
            f'The message bus is not reached at {lost.address}: {lost.reason}.'
            f' See transport_url of {" and of ".join(lost.configured)}.'
        )


def conductor_failures() -> Iterator[str]:
    """Yield which nova-conductors do not say that they are guarded."""
    for conductor, said in conductors.ask(conductors.everywhere()):
        match said:
            case conductors.Said.NOT_GUARDED:
                yield (
                    f'{conductor} is not guarded, or older than this '
                    'release: add "driver = nova_reservations" to '
                    '[oslo_messaging_notifications] of its nova.conf and '
                    'restart it, or set [reservations] conductors_guarded = '
                    'false'
                )
            case conductors.Said.NOTHING:
                yield (
                    f'{conductor} does not answer within '
                    f'{conductors.SECONDS:g} s: start it; or delete its '
                    'service if it is gone: openstack compute service list '
                    '--service nova-conductor, openstack compute service '
                    'delete ID'
                )


def name_warnings(
    options: settings.Settings, region: str, cloud: ports.Cloud
) -> Iterator[str]:
    """Yield what nova.conf names, and the cloud does not have.

    :raises: CloudUnavailable
    """
    aggregate = options.best_effort_aggregate
    if aggregate and cloud.aggregates.find_members(aggregate) is None:
        yield (
            f'Nova has no aggregate {aggregate}, which [reservations] '
            'best_effort_aggregate names: no host is emptied for leases'
        )
    known = credentials.regions()
    if known and region not in known:
        yield (
            f'[reservations] region_name is {region}, but in the catalog of '
            f'keystone there are only: {", ".join(sorted(known))}'
        )
