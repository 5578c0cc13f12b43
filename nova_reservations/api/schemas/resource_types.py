# SPDX-License-Identifier: Apache-2.0
"""The schemas of resource types, each compiled once in a process."""

import functools

from nova_reservations.api import validation
from nova_reservations.plugins.resource_types import base


@functools.cache
def create(kind: type[base.ResourceType]) -> validation.Schema:
    """Return the schema of a new reservation, without ``resource_type``."""
    return validation.Schema(kind.schema)


@functools.cache
def update(kind: type[base.ResourceType]) -> validation.Schema:
    """Return the schema of changes to a reservation, without ``id``."""
    return validation.Schema(kind.update_schema)
