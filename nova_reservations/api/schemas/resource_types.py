# SPDX-License-Identifier: Apache-2.0
"""The schemas of resource types, each compiled once in a process.

A type may set its schemas when it is created, by its options.
"""

import functools

from nova_reservations.api import validation
from nova_reservations.plugins.resource_types import base


@functools.lru_cache
def create(kind: base.ResourceType) -> validation.Schema:
    """Return the schema of a new reservation, without ``resource_type``."""
    return validation.Schema(kind.schema)


@functools.lru_cache
def update(kind: base.ResourceType) -> validation.Schema:
    """Return the schema of changes to a reservation, without ``id``."""
    return validation.Schema(kind.update_schema)
