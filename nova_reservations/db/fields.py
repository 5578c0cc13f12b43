# SPDX-License-Identifier: Apache-2.0
"""Values made of rows, and rows made of values, where the fields of the one
have the names of the columns of the other."""

from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses
import enum
import functools
import types
from typing import Any
from typing import get_args

import sqlalchemy as sa


def columns(value: Any, table: sa.FromClause) -> dict[str, Any]:
    """Return the fields of a value that are columns of a table."""
    return {
        field.name: getattr(value, field.name)
        for field in dataclasses.fields(value)
        if field.name in table.c
    }


def selected(table: sa.FromClause, *kinds: Any) -> list[sa.ColumnElement[Any]]:
    """Return the columns of a table that are fields of dataclasses."""
    return [
        column
        for column in table.c
        if any(column.name in _fields(kind) for kind in kinds)
    ]


def of(row: sa.Row[Any], kind: Any) -> dict[str, Any]:
    """Return the columns of a row that are fields of a dataclass."""
    return known(zip(row._fields, row, strict=True), kind)


def known(pairs: Iterable[tuple[str, Any]], kind: Any) -> dict[str, Any]:
    """Return those of the pairs of a name and a value that are fields of a
    dataclass; a text becomes a member of the enumeration that its field is
    of."""
    fields = _fields(kind)
    return {
        name: value
        if value is None or (enumeration := fields[name]) is None
        else enumeration(value)
        for name, value in pairs
        if name in fields
    }


@functools.cache
def _fields(kind: Any) -> Mapping[str, type[enum.Enum] | None]:
    """Return name -> the enumeration that a field is of; None: of none."""
    return {
        field.name: _enumeration(field.type)
        for field in dataclasses.fields(kind)
    }


def _enumeration(annotation: Any) -> type[enum.Enum] | None:
    is_union = isinstance(annotation, types.UnionType)
    for each in get_args(annotation) if is_union else (annotation,):
        if isinstance(each, type) and issubclass(each, enum.Enum):
            return each
    return None
