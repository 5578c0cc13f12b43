# SPDX-License-Identifier: Apache-2.0
"""Rules of leases.

What may be created has a rule for each type of resource that an installed
package offers, and for each type of lease; whoever may create may all, unless
an operator says otherwise.
"""

from collections.abc import Iterator
from importlib import metadata

from oslo_policy import policy

from nova_reservations.objects import names
from nova_reservations.objects import states
from nova_reservations.policies import base

INDEX = 'reservations:leases:index'
INDEX_ALL_PROJECTS = 'reservations:leases:index:all_projects'
DELETED = 'reservations:leases:deleted'
SHOW = 'reservations:leases:show'
SHOW_HOSTS = 'reservations:leases:show:hosts'
OFFERS = 'reservations:leases:offers'
CREATE = 'reservations:leases:create'
CREATE_ALL_PROJECTS = 'reservations:leases:create:all_projects'
UPDATE = 'reservations:leases:update'
DELETE = 'reservations:leases:delete'
CELL = 'reservations:leases:cell'
HOST_NAMES = 'reservations:leases:host_names'
REASON_IN_FULL = 'reservations:leases:reason_in_full'
INDEX_SHARED = 'reservations:leases:index:shared'
SHOW_SHARED = 'reservations:leases:show:shared'
ACCESS_INDEX = 'reservations:leases:project_access:index'
ACCESS_ADD = 'reservations:leases:project_access:add'
ACCESS_REMOVE = 'reservations:leases:project_access:remove'


def create_of(kind: str) -> str:
    """Return the rule for what is of this type of resource, or of lease.

    The names of both are taken as they are; of ours, only those of resources
    have a colon.
    """
    return f'{CREATE}:{kind}'


def _of_types() -> Iterator[policy.DocumentedRuleDefault]:
    for kind in states.LeaseType:
        yield base.rule(
            create_of(kind),
            f'rule:{CREATE}',
            f'Create a lease of type {kind}.',
            ('POST', '/leases'),
        )
    points = metadata.entry_points(group=names.RESOURCE_TYPES)
    for name in sorted(points.names):
        yield base.rule(
            create_of(name),
            f'rule:{CREATE}',
            f'Create a lease with a reservation of type {name}.',
            ('POST', '/leases'),
        )


RULES = [
    base.rule(
        INDEX,
        base.PROJECT_READER_OR_ADMIN,
        'List the leases of the own project.',
        ('GET', '/leases'),
    ),
    base.rule(
        INDEX_ALL_PROJECTS,
        base.ADMIN,
        'List the leases of all projects, or of another one.',
        ('GET', '/leases'),
        ('GET', '/leases?project_id={project_id}'),
    ),
    base.rule(
        DELETED,
        base.ADMIN,
        'See leases that were deleted: list them by ``deleted``, and with '
        'others by ``changes-since``, and show one by ``deleted``.',
        ('GET', '/leases?deleted=true'),
        ('GET', '/leases?changes-since={date}'),
        ('GET', '/leases/{lease_id}?deleted=true'),
    ),
    base.rule(
        SHOW,
        base.PROJECT_READER_OR_ADMIN,
        'Show a lease, or a series of leases. To whoever this refuses a '
        'lease or series of another project, it does not exist.',
        ('GET', '/leases/{lease_id}'),
        ('GET', '/lease-series/{series_id}'),
    ),
    base.rule(
        SHOW_HOSTS,
        base.PROJECT_READER_OR_ADMIN,
        'See the ids and names of the whole hosts that a lease has, from its '
        'start until it is over.',
        ('GET', '/leases/{lease_id}'),
    ),
    base.rule(
        OFFERS,
        base.PROJECT_READER_OR_ADMIN,
        'Find windows in which a lease would be accepted.',
        ('POST', '/leases/offers'),
    ),
    base.rule(
        CREATE,
        base.PROJECT_MEMBER_OR_ADMIN,
        'Create a lease.',
        ('POST', '/leases'),
    ),
    base.rule(
        CREATE_ALL_PROJECTS,
        base.ADMIN,
        'Create a lease, or find windows for one, in the name of another '
        'project, as ``project_id``.',
        ('POST', '/leases'),
        ('POST', '/leases/offers'),
    ),
    base.rule(
        UPDATE,
        base.PROJECT_MEMBER_OR_ADMIN,
        'Change or end a lease.',
        ('PUT', '/leases/{lease_id}'),
    ),
    base.rule(
        DELETE,
        base.PROJECT_MEMBER_OR_ADMIN,
        'Delete a lease, or a series of leases.',
        ('DELETE', '/leases/{lease_id}'),
        ('DELETE', '/lease-series/{series_id}'),
    ),
    base.rule(
        CELL,
        base.ADMIN,
        'Ask for hosts by their cell, as ``$cell``.',
        ('POST', '/leases'),
        ('POST', '/leases/offers'),
        ('PUT', '/leases/{lease_id}'),
    ),
    base.rule(
        HOST_NAMES,
        base.ADMIN,
        'Ask for hosts by what names a single one, as ``$id``, '
        '``$service_name`` and ``$hypervisor_hostname``. Whoever may can list '
        'all hosts, by one request after another.',
        ('POST', '/leases'),
        ('POST', '/leases/offers'),
        ('PUT', '/leases/{lease_id}'),
    ),
    base.rule(
        REASON_IN_FULL,
        base.ADMIN,
        'See servers, projects and hosts of others in the ``status_reason`` '
        'of leases.',
        ('GET', '/leases'),
        ('GET', '/leases/{lease_id}'),
        ('PUT', '/leases/{lease_id}'),
        ('GET', '/lease-series/{series_id}'),
    ),
    base.rule(
        INDEX_SHARED,
        base.PROJECT_READER_OR_ADMIN,
        'List the leases of which others share a reservation with the own '
        'project.',
        ('GET', '/leases?shared=True'),
    ),
    base.rule(
        SHOW_SHARED,
        base.PROJECT_READER_OR_ADMIN,
        'Show name, dates, status and reservations of a lease of which '
        'others share a reservation with the own project.',
        ('GET', '/leases/{lease_id}'),
    ),
    base.rule(
        ACCESS_INDEX,
        base.PROJECT_READER_OR_ADMIN,
        'List the projects that reservations of a lease are shared with.',
        ('GET', '/leases/{lease_id}/project-access'),
    ),
    base.rule(
        ACCESS_ADD,
        base.PROJECT_MEMBER_OR_ADMIN,
        'Share reservations of a lease, or of a series of leases, with other '
        'projects, as ``addProjectAccess``.',
        ('POST', '/leases/{lease_id}/action'),
        ('POST', '/lease-series/{series_id}/action'),
    ),
    base.rule(
        ACCESS_REMOVE,
        base.PROJECT_MEMBER_OR_ADMIN,
        'Share them no more, as ``removeProjectAccess``.',
        ('POST', '/leases/{lease_id}/action'),
        ('POST', '/lease-series/{series_id}/action'),
    ),
    *_of_types(),
]
