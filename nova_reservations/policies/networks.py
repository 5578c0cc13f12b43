# SPDX-License-Identifier: Apache-2.0
from nova_reservations.policies import base

INDEX = 'reservations:networks:index'
SHOW = 'reservations:networks:show'
CREATE = 'reservations:networks:create'
DELETE = 'reservations:networks:delete'

RULES = [
    base.rule(
        INDEX,
        base.ADMIN,
        'List the segments that can be leased as networks.',
        ('GET', '/networks'),
    ),
    base.rule(
        SHOW,
        base.ADMIN,
        'Show a segment that can be leased as a network.',
        ('GET', '/networks/{network_id}'),
    ),
    base.rule(
        CREATE,
        base.ADMIN,
        'Make a segment one that can be leased as a network.',
        ('POST', '/networks'),
    ),
    base.rule(
        DELETE,
        base.ADMIN,
        'Let a segment be leased no more.',
        ('DELETE', '/networks/{network_id}'),
    ),
]
