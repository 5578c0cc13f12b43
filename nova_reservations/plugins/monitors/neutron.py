# SPDX-License-Identifier: Apache-2.0
"""Strangers at places in Neutron that are for leases."""

from collections.abc import Collection
from collections.abc import Mapping

from nova_reservations import ports


def strangers(
    found: Mapping[str, ports.Made], *holders: Mapping[str, Collection[str]]
) -> set[str]:
    """Return the names of the resources whose places something has that is of
    no lease. What bears no name may have lost it: a project can take it off
    what it was given.

    :param found: name of a resource -> what was there
    :param holders: name -> the projects that held it, before that was seen
        and after
    """
    return {
        name
        for name, made in found.items()
        if made.reservation_id is None
        and not any(made.project_id in at.get(name, ()) for at in holders)
    }
