# SPDX-License-Identifier: Apache-2.0
from nova_reservations.policies import base

INDEX = 'reservations:demand:index'

RULES = [
    base.rule(
        INDEX,
        base.ADMIN,
        'List what projects have asked for and were refused for lack of room.',
        ('GET', '/demand'),
    ),
]
