# SPDX-License-Identifier: Apache-2.0
"""The upgrade check of Neutron, for clouds where floating IPs or networks can
be leased."""

from collections.abc import Collection
from collections.abc import Iterator

from nova_reservations import exception
from nova_reservations import ports
from nova_reservations.objects import address
from nova_reservations.objects import segment

_USER = (
    '[neutron] of nova.conf, or in [service_user] if [neutron] has no '
    'auth_type'
)


def failures(cloud: ports.Cloud, leased: Collection[str]) -> Iterator[str]:
    """Yield why floating IPs and networks can't be created for projects.

    :param leased: the resource types that can be leased
    """
    try:
        if address.FLOATING_IP in leased:
            cloud.networks.find_marked()
        if segment.NETWORK in leased:
            cloud.segments.find_marked()
        if {address.FLOATING_IP, segment.NETWORK}.isdisjoint(leased):
            return
        acts_everywhere = cloud.networks.acts_everywhere()
    except exception.CloudUnavailable as error:
        yield (
            f'{error}. Look at the credentials and the endpoint in {_USER}. '
            'Floating IPs also need the service plugin router of Neutron.'
        )
        return
    if not acts_everywhere:
        yield (
            f'To Neutron the user in {_USER}, is no administrator, '
            'who alone sees and makes what other projects have: openstack '
            'role add --project PROJECT --user USER admin, with the project '
            'that is named there'
        )
