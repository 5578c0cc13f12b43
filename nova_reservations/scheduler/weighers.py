# SPDX-License-Identifier: Apache-2.0
"""Weighers: they order hosts by consumers' figures.

Named in ``[filter_scheduler] weight_classes``; a filter of this package in
``available_filters`` loads the consumers.
"""

# Nova's objects get their names only when the process registers them.
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nova import objects
from nova import weights as nova_weights
import nova.conf
from nova.scheduler import host_manager
from nova.scheduler import utils
from nova.scheduler import weights

from nova_reservations import conf
from nova_reservations import exception
from nova_reservations.scheduler.consumers import base
from nova_reservations.scheduler.consumers import host_states
from nova_reservations.scheduler.consumers import needs
from nova_reservations.scheduler.consumers import reserved

CONF = nova.conf.CONF


class ResourceWeigher(weights.BaseHostWeigher):
    """Prefer hosts with more free of what the server needs.

    Of several resources each counts alike, from 0 for the host with the
    least to 1 for the one with the most. ``resource_weight_multiplier`` below
    0 prefers those with less free, and so fills one host after the other.
    """

    minval = 0.0
    maxval = 1.0

    def weight_multiplier(self, host_state: host_manager.HostState) -> float:
        return utils.get_weight_multiplier(
            host_state,
            'resource_weight_multiplier',
            CONF.reservations.resource_weight_multiplier,
        )

    def weigh_objects(
        self,
        weighed_obj_list: Sequence[Any],
        weight_properties: objects.RequestSpec,
    ) -> list[float]:
        hosts = [weighed.obj for weighed in weighed_obj_list]
        consumers = host_states.consumers()
        try:
            asked = needs.of(weight_properties.flavor, consumers)
        except exception.InvalidInput:
            # The filter has logged the error.
            asked = []
        columns = [
            nova_weights.normalize(
                [needs.free(host, need, consumers) for host in hosts]
            )
            for need in asked
        ]
        if not columns:
            return [0.0] * len(hosts)
        return [sum(row) / len(columns) for row in zip(*columns, strict=True)]

    def _weigh_object(
        self,
        host_state: host_manager.HostState,
        weight_properties: objects.RequestSpec,
    ) -> float:
        """Satisfy the base class; the best is a matter of all hosts."""
        raise NotImplementedError


class ReservedAggregatesWeigher(weights.BaseHostWeigher):
    """Fill the hosts of a reservation one after the other.

    ===============  ==========================  ===================
    the host         the request names the       it names none, or
                     reservation                 another
    ===============  ==========================  ===================
    has slots of it  better, the fewer are left  worse, the more
    is reserved      better, the more servers    reservations are on
    whole            are on it                   the host
    ===============  ==========================  ===================

    So whole hosts of the reservation stay free for large servers. With
    ``reserved_aggregates_weight_multiplier`` below 0 it spreads them.
    """

    def weight_multiplier(self, host_state: host_manager.HostState) -> float:
        return utils.get_weight_multiplier(
            host_state,
            'reserved_aggregates_weight_multiplier',
            CONF.reservations.reserved_aggregates_weight_multiplier,
        )

    def _weigh_object(
        self,
        host_state: host_manager.HostState,
        weight_properties: objects.RequestSpec,
    ) -> float:
        on_host = base.held(host_state, reserved.NAME) or {}
        free_slots = on_host.get(reserved.wanted(weight_properties))
        if free_slots is None:
            return -len(on_host)
        if free_slots.slots_left is None:
            return host_state.num_instances
        return -free_slots.slots_left


conf.register_opts(CONF)
