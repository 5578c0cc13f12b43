# SPDX-License-Identifier: Apache-2.0
from nova_reservations.policies import base

INDEX = 'reservations:hosts:index'
SHOW = 'reservations:hosts:show'
CREATE = 'reservations:hosts:create'
UPDATE = 'reservations:hosts:update'
DELETE = 'reservations:hosts:delete'
ALLOCATIONS = 'reservations:hosts:allocations'
CALENDAR = 'reservations:hosts:calendar'
CAPACITY = 'reservations:hosts:capacity'
CAPACITY_PROJECTS = 'reservations:hosts:capacity:projects'
PROPERTIES = 'reservations:hosts:properties'
PRIVATE_PROPERTIES = 'reservations:hosts:properties:private'
MAINTAIN = 'reservations:hosts:maintain'
UPDATE_PROPERTY = 'reservations:hosts:properties:update'
NAMES = 'reservations:hosts:names'

RULES = [
    base.rule(
        INDEX,
        base.PROJECT_READER_OR_ADMIN,
        'List the enrolled hosts, with their numbers in place of names.',
        ('GET', '/os-hosts'),
    ),
    base.rule(
        SHOW,
        base.PROJECT_READER_OR_ADMIN,
        'Show an enrolled host, with its number in place of its names.',
        ('GET', '/os-hosts/{host_id}'),
    ),
    base.rule(
        NAMES,
        base.ADMIN,
        'See their names and private properties too, and by ``detail`` their '
        'cells and what their enrolment waits for; filter and sort by names.',
        ('GET', '/os-hosts'),
        ('GET', '/os-hosts/{host_id}'),
    ),
    base.rule(
        CREATE,
        base.ADMIN,
        'Enrol a compute host, so that it can be leased.',
        ('POST', '/os-hosts'),
    ),
    base.rule(
        UPDATE,
        base.ADMIN,
        'Set or unset properties of an enrolled host.',
        ('PUT', '/os-hosts/{host_id}'),
    ),
    base.rule(
        DELETE,
        base.ADMIN,
        'Give an enrolled host back to general use.',
        ('DELETE', '/os-hosts/{host_id}'),
    ),
    base.rule(
        MAINTAIN,
        base.ADMIN,
        'Cordon a host, drain it, or keep it without leases for a window of '
        'maintenance.',
        ('POST', '/os-hosts/{host_id}/action'),
    ),
    base.rule(
        ALLOCATIONS,
        base.ADMIN,
        'Show which leases hold which hosts.',
        ('GET', '/os-hosts/allocations'),
        ('GET', '/os-hosts/{host_id}/allocation'),
    ),
    base.rule(
        CALENDAR,
        base.PROJECT_READER_OR_ADMIN,
        'Show when hosts are taken: by leases of the own project, and '
        'without their names by others.',
        ('GET', '/os-hosts/calendar'),
    ),
    base.rule(
        CAPACITY,
        base.PROJECT_READER_OR_ADMIN,
        'Show how many hosts are there, reserved, held and free over time.',
        ('GET', '/os-hosts/capacity'),
    ),
    base.rule(
        CAPACITY_PROJECTS,
        base.ADMIN,
        'Show how many of them each project holds.',
        ('GET', '/os-hosts/capacity?by_project=True'),
    ),
    base.rule(
        PROPERTIES,
        base.PROJECT_READER_OR_ADMIN,
        'List the public properties by which hosts can be asked for.',
        ('GET', '/os-hosts/properties'),
    ),
    base.rule(
        PRIVATE_PROPERTIES,
        base.ADMIN,
        'List the private properties too.',
        ('GET', '/os-hosts/properties?all=True'),
    ),
    base.rule(
        UPDATE_PROPERTY,
        base.ADMIN,
        'Make a property of hosts private or public.',
        ('PATCH', '/os-hosts/properties/{name}'),
    ),
]
