# SPDX-License-Identifier: Apache-2.0
"""Leases, and windows in which there is room for one."""

from typing import Any

from openstack import resource

ENDED = frozenset({'TERMINATED', 'TIMEDOUT', 'ERROR', 'DELETING'})
"""Statuses after which no lease becomes active any more."""


class Lease(resource.Resource):
    """A lease as the API shows it; dates are in UTC."""

    resource_key = 'lease'
    resources_key = 'leases'
    base_path = '/leases'
    allow_create = True
    allow_fetch = True
    allow_commit = True
    allow_delete = True
    allow_list = True
    # Types of resources, and later releases, show more.
    _allow_unknown_attrs_in_body = True
    _query_mapping = resource.QueryParameters(
        'name',
        'status',
        'project_id',
        'all_tenants',
        'shared',
        'deleted',
        'start_after',
        'start_before',
        'end_after',
        'end_before',
        'sort_key',
        'sort_dir',
        # The only parameter with a hyphen, for Nova has it so.
        changes_since='changes-since',
    )

    #: Start and end: as 2050-12-26T12:00:00, in UTC; in requests also with an
    #: offset, and now.
    start_date = resource.Body('start_date')
    end_date = resource.Body('end_date')
    #: In requests, in place of the end: PT1H30M.
    duration = resource.Body('duration')
    lease_type = resource.Body('lease_type')
    max_retries = resource.Body('max_retries', type=int)
    before_end_date = resource.Body('before_end_date')
    #: What is leased: dicts, each with ``resource_type``.
    reservations = resource.Body('reservations', type=list, list_type=dict)
    series_id = resource.Body('series_id')
    project_id = resource.Body('project_id')
    user_id = resource.Body('user_id')
    status = resource.Body('status')
    status_reason = resource.Body('status_reason')
    queue_position = resource.Body('queue_position', type=int)
    degraded = resource.Body('degraded', type=bool)
    events = resource.Body('events', type=list, list_type=dict)
    #: In changes: replace hosts that have failed.
    replace_failed = resource.Body('replace_failed', type=bool)
    created_at = resource.Body('created_at')
    updated_at = resource.Body('updated_at')
    #: The same request with the same key makes no second lease.
    idempotency_key = resource.Header('Idempotency-Key')

    def shown(self) -> dict[str, Any]:
        """Return what the API has shown, and nothing that it has not."""
        return dict(self._body.attributes)


class Offer(resource.Resource):
    """A window in which a lease would be accepted."""

    start_date = resource.Body('start_date')
    end_date = resource.Body('end_date')
