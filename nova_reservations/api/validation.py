# SPDX-License-Identifier: Apache-2.0
"""Checks of a request, before anything else uses it."""

from collections.abc import Collection
from collections.abc import Mapping
import json
import re
from typing import Any
import urllib.parse

import jsonschema
from jsonschema import exceptions
from jsonschema import validators

from nova_reservations import exception

MAX_DEPTH = 32
MAX_QUERY_FIELDS = 32
MAX_MESSAGE = 500

# NUL, which PostgreSQL can't store, and surrogates, which UTF-8 can't encode.
_UNSTORABLE = re.compile('[\x00\ud800-\udfff]')


def _is_integer(_checker: Any, instance: Any) -> bool:
    return isinstance(instance, int) and not isinstance(instance, bool)


_Validator = validators.extend(
    jsonschema.Draft202012Validator,
    # In JSON Schema 1.0 is an integer, too; here it is refused.
    type_checker=jsonschema.Draft202012Validator.TYPE_CHECKER.redefine(
        'integer', _is_integer
    ),
)


class Schema:
    """A JSON Schema, Draft 2020-12.

    Where there is a ``pattern``, the ``description`` has it in words, for the
    error message. ``not`` is used for properties that can't be set at all.

    :ivar repeatable: names of the properties that are arrays; in a query they
        may be given several times.
    """

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self.schema = schema
        self._validator = _Validator(schema)
        self.repeatable = frozenset(
            name
            for name, its in schema.get('properties', {}).items()
            if its.get('type') == 'array'
        )

    def check(self, instance: Any) -> None:
        """:raises: InvalidInput with the most relevant error"""
        error = exceptions.best_match(self._validator.iter_errors(instance))
        if error is not None:
            raise exception.InvalidInput(_explain(error)[:MAX_MESSAGE])


_FORM = frozenset({'pattern', 'minLength'})


def _explain(error: exceptions.ValidationError) -> str:
    if error.validator == 'required':
        missing = [
            name
            for name in error.validator_value
            if name not in error.instance
        ]
        return f'Missing parameter {", ".join(missing)}'
    path = '.'.join(str(part) for part in error.absolute_path)
    if error.validator == 'not':
        return f'{path} cannot be set'
    if error.validator in _FORM and {'pattern', 'description'} <= {
        *error.schema
    }:
        reason = f'must be {error.schema["description"]}'
    else:
        reason = error.message
    return f'Malformed parameter {path}: {reason}' if path else reason


def parse_json(text: bytes) -> Any:
    """Parse JSON, and refuse what parsers read differently (such as duplicate
    keys), or what a database can't store.

    :raises: InvalidInput
    """
    try:
        parsed = json.loads(
            text.decode(),
            object_pairs_hook=_unique,
            parse_constant=_refuse_constant,
        )
    except (ValueError, RecursionError) as error:
        raise exception.InvalidInput(
            f'The body is not valid JSON: {error}'
        ) from error
    check_storable(parsed)
    return parsed


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    unique = dict(pairs)
    if len(unique) != len(pairs):
        raise ValueError('an object has two values of one name')
    return unique


def _refuse_constant(name: str) -> None:
    raise ValueError(f'{name} is not a number of JSON')


def parse_query(text: str, repeatable: Collection[str] = ()) -> dict[str, Any]:
    """Return the value of each parameter, or a list of its values if it is
    repeatable.

    :raises: InvalidInput
    """
    try:
        pairs = urllib.parse.parse_qsl(
            text,
            keep_blank_values=True,
            errors='strict',
            max_num_fields=MAX_QUERY_FIELDS,
        )
        query = _unique(
            [(name, value) for name, value in pairs if name not in repeatable]
        )
    except ValueError as error:
        raise exception.InvalidInput(
            f'The query is malformed: {error}'
        ) from error
    for name, value in pairs:
        if name in repeatable:
            query.setdefault(name, []).append(value)
    check_storable(query)
    return query


def check_storable(value: Any, depth: int = 0) -> None:
    """:raises: InvalidInput"""
    if depth > MAX_DEPTH:
        raise exception.InvalidInput(
            f'The body is nested more than {MAX_DEPTH} times'
        )
    if isinstance(value, str):
        if _UNSTORABLE.search(value):
            raise exception.InvalidInput(
                'NUL and single surrogates are not text'
            )
    elif isinstance(value, dict):
        for name, item in value.items():
            check_storable(name, depth)
            check_storable(item, depth + 1)
    elif isinstance(value, list):
        for item in value:
            check_storable(item, depth + 1)
