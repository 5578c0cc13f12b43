# SPDX-License-Identifier: Apache-2.0
from nova_reservations.policies import base

INDEX = 'reservations:resources:index'
SHOW = 'reservations:resources:show'
CREATE = 'reservations:resources:create'
UPDATE = 'reservations:resources:update'
DELETE = 'reservations:resources:delete'
ALLOCATIONS = 'reservations:resources:allocations'
CALENDAR = 'reservations:resources:calendar'
CAPACITY = 'reservations:resources:capacity'
PROPERTIES = 'reservations:resources:properties'
PRIVATE_PROPERTIES = 'reservations:resources:properties:private'

RULES = [
    base.rule(
        INDEX,
        base.ADMIN,
        'List resources of a type, beside hosts.',
        ('GET', '/resources'),
    ),
    base.rule(
        SHOW,
        base.ADMIN,
        'Show a resource, and which leases have it.',
        ('GET', '/resources/{resource_id}'),
    ),
    base.rule(
        CREATE,
        base.ADMIN,
        'Add a resource, so that it can be leased.',
        ('POST', '/resources'),
    ),
    base.rule(
        UPDATE,
        base.ADMIN,
        'Change the inventories and properties of a resource, or cordon it.',
        ('PUT', '/resources/{resource_id}'),
    ),
    base.rule(
        DELETE,
        base.ADMIN,
        'Remove a resource that no lease has.',
        ('DELETE', '/resources/{resource_id}'),
    ),
    base.rule(
        ALLOCATIONS,
        base.ADMIN,
        'List which leases have resources of a type, and when.',
        ('GET', '/resources/allocations'),
    ),
    base.rule(
        CALENDAR,
        base.PROJECT_READER_OR_ADMIN,
        'Show when resources of a type are taken: by leases of the own '
        'project, and without their names by others.',
        ('GET', '/resources/calendar'),
    ),
    base.rule(
        CAPACITY,
        base.PROJECT_READER_OR_ADMIN,
        'Show how many resources of a type, or units of a resource class, '
        'are there and free over time.',
        ('GET', '/resources/capacity'),
    ),
    base.rule(
        PROPERTIES,
        base.PROJECT_READER_OR_ADMIN,
        'List the public properties by which resources can be asked for.',
        ('GET', '/resources/properties'),
    ),
    base.rule(
        PRIVATE_PROPERTIES,
        base.ADMIN,
        'List the private properties too.',
        ('GET', '/resources/properties?all=True'),
    ),
]
