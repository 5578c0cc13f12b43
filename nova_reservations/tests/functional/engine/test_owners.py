# SPDX-License-Identifier: Apache-2.0
"""Hosts have the owners that schedulers ask for."""


def test_hosts_are_their_lessees_while_the_lease_is_active(region):
    lease = region.lease(minimum=2, start=5)
    later = region.lease(start=100, end=160)
    ids = [each.reservations[0].id for each in (lease, later)]

    def owners():
        return region.access.owners([*ids, 'unknown'])

    region.forward(until=4)
    assert owners() == {}
    region.forward(until=5)
    [(reservation_id, (project_id, hosts))] = owners().items()
    assert (reservation_id, project_id) == (ids[0], lease.project_id)
    assert hosts == region.hosts_of(lease)
    region.forward(until=70)
    assert owners() == {}
