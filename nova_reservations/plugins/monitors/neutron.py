# SPDX-License-Identifier: Apache-2.0
"""Objects of strangers in Neutron, at places that are kept for leases."""

from collections.abc import Collection
from collections.abc import Mapping

from nova_reservations import ports


def strangers(
    found: Mapping[str, ports.Made], *holders: Mapping[str, Collection[str]]
) -> set[str]:
    """Return the names of the resources at whose places is an object that
    belongs to no lease.

    An object without a reservation's ID still belongs to a lease if the
    project of the lease has it: a project can remove the ID.

    :param found: name of a resource -> the object at its place
    :param holders: name of a resource -> the projects that held it; as of
        before the objects were read, and after
    """
    return {
        name
        for name, made in found.items()
        if made.reservation_id is None
        and not any(made.project_id in at.get(name, ()) for at in holders)
    }
