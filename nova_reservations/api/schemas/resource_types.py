# SPDX-License-Identifier: Apache-2.0
"""The schemas of resource types, each compiled once in a process.

A type may set its schemas when it is created, by its options.
"""

from collections.abc import Mapping
import functools
from typing import Any

from nova_reservations.api import validation
from nova_reservations.api.schemas import parameters
from nova_reservations.types import base


@functools.lru_cache
def create(kind: base.ResourceType) -> validation.Schema:
    """Return the schema of a new reservation, without ``resource_type``."""
    return validation.Schema(new_schema(kind))


def new_schema(
    kind: base.ResourceType | type[base.ResourceType],
) -> dict[str, Any]:
    """Return the schema of the type with null for what is not given."""
    return parameters.unset_by_null(kind.schema)


def given(kind: base.ResourceType, asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a new reservation asks for; null may mean something where
    a type wants the key."""
    return parameters.given(asked, kind.schema.get('required', ()))


@functools.lru_cache
def update(kind: base.ResourceType) -> validation.Schema:
    """Return the schema of changes to a reservation, without ``id``."""
    return validation.Schema(kind.update_schema)
