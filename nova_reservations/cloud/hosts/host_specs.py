# SPDX-License-Identifier: Apache-2.0
"""Nova's own filters as judges of extra specs."""

# Nova's objects get their names only when the process registers them.
from __future__ import annotations

import functools
import json
import types
from typing import Any

from nova.objects import flavor as nova_flavor
from nova.scheduler import filters
from nova.scheduler.filters import aggregate_instance_extra_specs
from nova.scheduler.filters import compute_capabilities_filter

from nova_reservations.objects import host_specs


def passes(key: str, fact: str, spec: str) -> bool:
    """Return whether a host passes Nova's filter.

    :param key: of an extra spec, with its scope
    :param fact: what the host has: its cpu_info, or the values in the metadata
        of its aggregates, separated by commas
    :param spec: the value of the extra spec
    """
    request = types.SimpleNamespace(
        flavor=nova_flavor.Flavor(extra_specs={key: spec})
    )
    if not key.startswith(host_specs.AGGREGATES):
        return bool(_passes(_capabilities(), _host(cpu_info=fact), request))
    name = key.removeprefix(host_specs.AGGREGATES)
    # One after the other: if one makes the filter fail, it depends on their
    # order whether it does. Such a host is not taken.
    judged = [
        _passes(_aggregates(), _host(aggregates=[each]), request)
        for each in (
            types.SimpleNamespace(metadata={name: value})
            for value in fact.split(',')
        )
    ]
    return None not in judged and any(judged)


def _host(**known: Any) -> types.SimpleNamespace:
    """Return a host with as much as a filter reads."""
    return types.SimpleNamespace(stats={}, **known)


@functools.cache
def _capabilities() -> filters.BaseHostFilter:
    return compute_capabilities_filter.ComputeCapabilitiesFilter()


@functools.cache
def _aggregates() -> filters.BaseHostFilter:
    return aggregate_instance_extra_specs.AggregateInstanceExtraSpecsFilter()


def _passes(
    judge: filters.BaseHostFilter, host: Any, request: Any
) -> bool | None:
    """Return whether the host passes; None: the filter fails, such as by
    "abc" with ">= 4". In Nova the server then fails too."""
    try:
        return bool(judge.host_passes(host, request))
    except (AttributeError, IndexError, TypeError, ValueError):
        return None


def normal(cpu_info: str) -> str:
    """Return cpu_info with its lists in order: nova-compute writes sets, in
    another order after each start. Nova's filter finds the same in it."""
    try:
        return json.dumps(_sorted(json.loads(cpu_info)))
    except ValueError:
        return cpu_info


def _sorted(value: Any) -> Any:
    match value:
        case dict():
            return {key: _sorted(each) for key, each in value.items()}
        case list():
            return sorted(map(_sorted, value), key=str)
        case _:
            return value
