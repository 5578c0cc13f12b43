# SPDX-License-Identifier: Apache-2.0
"""The directive ``openapi``: the API's OpenAPI document as text.

The document itself is put beside the pages, as openapi.json.
"""

from collections.abc import Iterator
from importlib import metadata
import json
import pathlib
from typing import Any

from docutils import nodes
from docutils import statemachine
from nova import objects
from sphinx import application
from sphinx.util import docutils

# As nova-api does when it starts.
objects.register_all()

from nova_reservations.api import openapi  # noqa: E402
from nova_reservations.api import routes  # noqa: E402
from nova_reservations.objects import names  # noqa: E402


def _document() -> dict[str, Any]:
    types = {
        point.name: point.load()
        for point in metadata.entry_points(group=names.RESOURCE_TYPES)
    }
    return openapi.document(routes.MOUNT, routes.ROUTES, types)


class Page(docutils.SphinxDirective):
    def run(self) -> list[nodes.Node]:
        lines = statemachine.StringList(
            list(_lines(_document())), '<the OpenAPI document>'
        )
        section = nodes.section()
        self.state.nested_parse(lines, 0, section, match_titles=True)
        return section.children


def _lines(document: dict[str, Any]) -> Iterator[str]:
    for path, operations in document['paths'].items():
        for method, operation in operations.items():
            title = f'{method.upper()} {path}'
            yield from (title, '-' * len(title), '')
            yield from _operation(operation)
    yield from ('Objects', '-------', '')
    for name, schema in document['components']['schemas'].items():
        yield from _schema(name, schema)


def _operation(operation: dict[str, Any]) -> Iterator[str]:
    yield from (operation['summary'], '')
    yield from (operation['description'].replace('`', '``'), '')
    for parameter in operation['parameters']:
        if 'name' in parameter:
            needed = ', required' if parameter['required'] else ''
            yield (
                f'* ``{parameter["name"]}`` in {parameter["in"]}{needed}: '
                f'{_of(parameter["schema"])}'
            )
    yield ''
    if 'requestBody' in operation:
        yield f'Body: {_content(operation["requestBody"])}'
        yield ''
    for status, answer in operation['responses'].items():
        if 'content' in answer:
            yield f'Answers {status} with {_content(answer)}'
            yield ''
    yield f'Statuses: {", ".join(operation["responses"])}.'
    yield ''


def _content(part: dict[str, Any]) -> str:
    return _of(part['content']['application/json']['schema'])


def _schema(name: str, schema: dict[str, Any]) -> Iterator[str]:
    yield from (f'.. _openapi-{name}:', '', name, '~' * len(name), '')
    text = json.dumps(schema, indent=2)
    yield from ('.. code-block:: json', '')
    yield from (f'   {line}' for line in text.splitlines())
    yield ''


def _of(schema: dict[str, Any]) -> str:
    """Return the schema in a few words."""
    if '$ref' in schema:
        name = schema['$ref'].rpartition('/')[2]
        return f':ref:`{name} <openapi-{name}>`'
    if 'const' in schema:
        return f'``{schema["const"]}``'
    if 'enum' in schema:
        return ', '.join(f'``{value}``' for value in schema['enum'])
    if 'properties' in schema:
        inside = (
            f'``{name}``: {_of(its)}'
            for name, its in schema['properties'].items()
        )
        return f'an object of {"; ".join(inside)}'
    if 'items' in schema:
        return f'a list of {_of(schema["items"])}'
    if 'description' in schema:
        return str(schema['description'])
    kind = schema.get('type', 'anything')
    return ' or '.join([kind] if isinstance(kind, str) else kind)


def _write(app: application.Sphinx, _: Exception | None) -> None:
    if app.builder.format == 'html':
        target = pathlib.Path(app.outdir, 'api', 'openapi.json')
        target.write_text(json.dumps(_document(), indent=2))


def setup(app: application.Sphinx) -> dict[str, bool]:
    app.add_directive('openapi', Page)
    app.connect('build-finished', _write)
    return {'parallel_read_safe': True}
