# SPDX-License-Identifier: Apache-2.0
"""The lease API as an OpenAPI document.

It is generated from the routes with their schemas, the resource types and the
policies, so that it always matches the code.
"""

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
import re
from typing import Any
from typing import TypeAlias

from oslo_policy import policy

from nova_reservations import policies
from nova_reservations.api import versions
from nova_reservations.api.action import Action
from nova_reservations.api.action import Routes
from nova_reservations.api.schemas import errors
from nova_reservations.api.schemas import hosts
from nova_reservations.api.schemas import leases
from nova_reservations.api.schemas import parameters
from nova_reservations.api.schemas import resource_types
from nova_reservations.api.schemas import resources
from nova_reservations.types import base

_DESCRIPTION = """\
Advance reservations of hosts and capacity, inside Nova. Paths are below the
compute endpoint; the suffix `.json` may follow each of them. Dates are in
UTC. What is not listed here, as a parameter or in a body, is refused; so is a
body of more than 64 KiB. A parameter of a query with the value `None` is not
given, except where that may be a name. A `PUT` may send back what `GET` shows,
if it is as it is shown. A method that a path does not have is a 405. Every
refusal says why in `error_message`, and which kind it is of in `error_kind`,
unless the request itself is malformed. Where a lease is asked for or changed,
the cloud may be configured to answer `no_room` with 409 and `over_limit` with
403 in place of 400."""

_REFUSALS = {
    400: 'The request is malformed, or makes no sense. To one that asks for a '
    'lease, or changes one: too little is free in its window, or it is over a '
    'limit of the project.',
    401: "There is no valid token. Keystone's middleware answers.",
    403: 'The policy does not allow it.',
    404: 'It does not exist, or the project may not see it.',
    406: 'There is no such version of the API.',
    409: 'The state does not allow it, or somebody else was first.',
    413: 'The body is too large.',
    422: 'The Idempotency-Key was sent with another body.',
    503: 'Nova, a database or placement can not be reached, or too many ask '
    'for the same at this moment: try again later.',
}
_ALWAYS = frozenset({400, 401, 406})
_SERVED = frozenset({403, 503})

_PATH_PARAMETERS: dict[str, dict[str, Any]] = {
    'lease_id': parameters.UUID,
    'series_id': parameters.UUID,
    'floatingip_id': parameters.UUID,
    'network_id': parameters.UUID,
    'host_id': hosts.ID,
    'resource_id': resources.ID,
    'name': hosts.PROPERTY_NAME,
}

_VERSION_PARAMETER = {
    'name': 'OpenStack-API-Version',
    'in': 'header',
    'description': 'The version that the client expects.',
    'schema': {
        'enum': [f'reservation {versions.VERSION}', 'reservation latest']
    },
}
_HEADERS = {
    'OpenStack-API-Version': {
        'description': 'The version of the answer.',
        'schema': {'const': f'reservation {versions.VERSION}'},
    },
    'Retry-After': {
        'description': 'Seconds after which a client should try again.',
        'schema': {'type': 'string', 'pattern': '^[0-9]+$'},
    },
}

# Anchors of Python's patterns -> anchors of JSON Schema, as in JavaScript.
_ANCHORS = {r'\A': '^', r'\Z': '$'}

# Classes will do, because only class attributes are used.
Types: TypeAlias = Mapping[str, base.ResourceType | type[base.ResourceType]]


def document(url: str, routes: Routes, types: Types) -> dict[str, Any]:
    """Return the document.

    :param url: the base URL of the paths of the routes.
    :param types: name -> resource type.
    """
    writer = _Writer(routes, types)
    return {
        'openapi': '3.1.0',
        'info': {
            'title': 'Reservations of Nova',
            'version': versions.VERSION,
            'description': _DESCRIPTION,
            'license': {'name': 'Apache-2.0', 'identifier': 'Apache-2.0'},
        },
        'servers': [{'url': url}],
        'security': [{'token': []}],
        'paths': {
            path: {
                method.lower(): writer.operation(path, method)
                for method in actions
            }
            for path, actions in routes.items()
        },
        'components': {
            'responses': {
                str(status): writer.refusal(status) for status in _REFUSALS
            },
            'headers': _HEADERS,
            'parameters': {'version': _VERSION_PARAMETER},
            'securitySchemes': {
                'token': {
                    'type': 'apiKey',
                    'in': 'header',
                    'name': 'X-Auth-Token',
                }
            },
            # This must be last, because everything above adds to it.
            'schemas': writer.schemas,
        },
    }


class _Writer:
    """:ivar schemas: title -> schema, of schemas with a title: these are
    written once, and referenced elsewhere."""

    def __init__(self, routes: Routes, types: Types) -> None:
        self.routes = routes
        self.schemas: dict[str, Any] = {}
        self._types(
            leases.NEW_RESERVATION,
            {
                name: resource_types.new_schema(kind)
                for name, kind in types.items()
                if not kind.comes_alone
            },
        )
        self._types(
            leases.CHANGED_RESERVATION,
            {name: kind.update_schema for name, kind in types.items()},
        )

    def _types(
        self, item: dict[str, Any], types: Mapping[str, Mapping[str, Any]]
    ) -> None:
        """Write the schema of a reservation as one alternative per type."""
        self.schemas[item['title']] = {
            'anyOf': [
                self._inside(_merged(item, name, schema))
                for name, schema in types.items()
            ]
        }

    def operation(self, path: str, method: str) -> dict[str, Any]:
        action = self.routes[path][method]
        rules = list(_rules(path, method))
        operation: dict[str, Any] = {
            'operationId': _operation_id(path, method),
            'tags': [rules[0].name.split(':')[1] if rules else 'versions'],
            'parameters': [
                {'$ref': '#/components/parameters/version'},
                *self._parameters(path, action),
            ],
            'responses': {
                str(action.status): self._answer(path, action),
                **{
                    str(status): {'$ref': f'#/components/responses/{status}'}
                    for status in _refusals(action, bool(rules))
                },
            },
        }
        if rules:
            operation['summary'] = rules[0].description
            operation['description'] = _policies(rules)
        else:
            operation['summary'] = action.run.__doc__
            operation['description'] = 'For everybody who has a token.'
        if action.body is not None:
            operation['requestBody'] = {
                'required': True,
                'content': self._json(action.body.schema),
            }
        return operation

    def _parameters(
        self, path: str, action: Action
    ) -> Iterator[dict[str, Any]]:
        for name in _names(path):
            yield {
                'name': name,
                'in': 'path',
                'required': True,
                'schema': self._schema(_PATH_PARAMETERS[name]),
            }
        for place, its in (
            ('query', action.query),
            ('header', action.headers),
        ):
            taken: Any = its.schema if its else {}
            for name, schema in taken.get('properties', {}).items():
                yield {
                    'name': name,
                    'in': place,
                    'required': name in taken.get('required', ()),
                    'schema': self._schema(schema),
                }

    def _answer(self, path: str, action: Action) -> dict[str, Any]:
        answer: dict[str, Any] = {
            'description': 'It is done.',
            'headers': {
                'OpenStack-API-Version': {
                    '$ref': '#/components/headers/OpenStack-API-Version'
                }
            },
        }
        if action.response is not None:
            answer['content'] = self._json(action.response.schema)
            if action.status == 201:
                [noun] = action.response.schema['required']
                answer['links'] = self._links(path, noun)
        return answer

    def _links(self, path: str, noun: str) -> dict[str, Any]:
        """Return links to the actions on the object that was created."""
        return {
            _operation_id(below, method): {
                'operationId': _operation_id(below, method),
                'parameters': {
                    name: f'$response.body#/{noun}/id'
                    for name in _names(below)
                },
            }
            for below, actions in self.routes.items()
            if below.startswith(f'{path}/{{')
            for method in actions
        }

    def refusal(self, status: int) -> dict[str, Any]:
        answer: dict[str, Any] = {'description': _REFUSALS[status]}
        if status != 401:
            answer['content'] = self._json(errors.RESPONSE.schema)
        if status == 503:
            answer['headers'] = {
                'Retry-After': {'$ref': '#/components/headers/Retry-After'}
            }
        return answer

    def _json(self, schema: Mapping[str, Any]) -> dict[str, Any]:
        return {'application/json': {'schema': self._schema(schema)}}

    def _schema(self, schema: Mapping[str, Any]) -> dict[str, Any]:
        """Return the schema, or a reference to it if it has a title."""
        title = schema.get('title')
        if title is None:
            return self._inside(schema)
        if title not in self.schemas:
            self.schemas[title] = self._inside(schema)
        return {'$ref': f'#/components/schemas/{title}'}

    def _inside(self, schema: Mapping[str, Any]) -> dict[str, Any]:
        return {key: self._keyword(key, its) for key, its in schema.items()}

    def _keyword(self, key: str, value: Any) -> Any:
        if isinstance(value, bool):
            return value
        match key:
            case 'properties':
                return {name: self._schema(its) for name, its in value.items()}
            case 'items' | 'additionalProperties' | 'propertyNames' | 'not':
                return self._schema(value)
            case 'allOf' | 'anyOf' | 'oneOf':
                return [self._schema(its) for its in value]
            case 'pattern':
                for python, javascript in _ANCHORS.items():
                    value = value.replace(python, javascript)
        return value


def _merged(
    item: Mapping[str, Any], name: str, schema: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the schema of an item with the parts of its type."""
    return {
        **schema,
        'properties': {
            **schema.get('properties', {}),
            **item['properties'],
            'resource_type': {'const': name},
        },
        'required': [*item['required'], *schema.get('required', ())],
    }


def _rules(path: str, method: str) -> Iterator[policy.DocumentedRuleDefault]:
    for rule in policies.list_rules():
        for operation in rule.operations:
            url = operation['path'].partition('?')[0]
            if operation['method'] == method and url.endswith(path):
                yield rule


def _policies(rules: Iterable[policy.DocumentedRuleDefault]) -> str:
    return '\n\n'.join(
        f'Policy `{rule.name}`, by default `{rule.check_str}`: '
        f'{rule.description}'
        for rule in rules
    )


def _refusals(action: Action, ruled: bool) -> list[int]:
    statuses = {*_ALWAYS, *action.refusals}
    if ruled:
        statuses |= _SERVED
    if action.body is not None:
        statuses.add(413)
    return sorted(statuses)


def _operation_id(path: str, method: str) -> str:
    words = re.findall(r'\w+', path.removeprefix('/v1/'))
    return '_'.join([method.lower(), *words])


def _names(path: str) -> list[str]:
    return re.findall(r'{(\w+)}', path)
