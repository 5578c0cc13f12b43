# SPDX-License-Identifier: Apache-2.0
from nova_reservations.policies import base

INDEX = 'reservations:floatingips:index'
SHOW = 'reservations:floatingips:show'
CREATE = 'reservations:floatingips:create'
DELETE = 'reservations:floatingips:delete'
ALL_NETWORKS = 'reservations:floatingips:all_networks'

RULES = [
    base.rule(
        INDEX,
        base.PROJECT_READER_OR_ADMIN,
        'List the addresses that can be leased as floating IPs.',
        ('GET', '/floatingips'),
    ),
    base.rule(
        SHOW,
        base.PROJECT_READER_OR_ADMIN,
        'Show an address that can be leased as a floating IP.',
        ('GET', '/floatingips/{floatingip_id}'),
    ),
    base.rule(
        CREATE,
        base.ADMIN,
        'Make an address one that can be leased as a floating IP.',
        ('POST', '/floatingips'),
    ),
    base.rule(
        DELETE,
        base.ADMIN,
        'Let an address be leased no more.',
        ('DELETE', '/floatingips/{floatingip_id}'),
    ),
    base.rule(
        ALL_NETWORKS,
        base.ADMIN,
        'See the addresses of all networks, also of those that the project '
        'does not see in Neutron.',
        ('GET', '/floatingips'),
        ('GET', '/floatingips/{floatingip_id}'),
    ),
]
