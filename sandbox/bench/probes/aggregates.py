# SPDX-License-Identifier: Apache-2.0
"""The floor of a start: Nova's own writes of an aggregate, host by host."""

import time

from sandbox import layout as lo
from sandbox.bench.probes import programs


def one_by_one(layout: lo.Layout, hosts: list[str]) -> float:
    """Return the seconds that Nova takes to put hosts into an aggregate."""
    programs.become_nova(layout)
    from nova import context
    from nova.compute import api

    admin = context.get_admin_context()
    aggregates = api.AggregateAPI()
    made = aggregates.create_aggregate(admin, 'one by one', None)
    began = time.perf_counter()
    for name in hosts:
        aggregates.add_host_to_aggregate(admin, made.id, name)
    seconds = time.perf_counter() - began
    for name in hosts:
        aggregates.remove_host_from_aggregate(admin, made.id, name)
    aggregates.delete_aggregate(admin, made.id)
    return seconds
