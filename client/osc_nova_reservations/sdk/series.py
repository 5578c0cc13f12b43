# SPDX-License-Identifier: Apache-2.0
"""Series: leases that repeat, and have their ``series_id`` in common."""

from openstack import resource

from osc_nova_reservations.sdk import lease


class Series(resource.Resource):
    resource_key = 'series'
    base_path = '/lease-series'
    allow_fetch = True

    #: In the order of their start.
    leases = resource.Body('leases', type=list, list_type=lease.Lease)
    #: After a create: the dates for which there was no room, and why.
    refused = resource.Body('refused', type=list, list_type=dict)


class Remaining(resource.Resource):
    """A lease that is not deleted yet.

    The reason is None while it is being deleted.
    """

    lease = resource.Body('lease', type=lease.Lease)
    reason = resource.Body('reason')
