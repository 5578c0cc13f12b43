# SPDX-License-Identifier: Apache-2.0
"""The directives ``plugins`` and ``measures``: what there is, from the code.

``plugins`` lists the entry points that this package has in a group, with the
first paragraph of what each says of itself.
"""

from collections.abc import Iterator
from importlib import metadata
import inspect
from typing import Any
from typing import ClassVar

from docutils import nodes
from docutils import statemachine
from sphinx import application
from sphinx.util import docutils

from nova_reservations.compute.metrics import measures

DISTRIBUTION = 'nova-reservations'


class Generated(docutils.SphinxDirective):
    def run(self) -> list[nodes.Node]:
        lines = statemachine.StringList(list(self.lines()), '<the code>')
        found = nodes.Element()
        self.state.nested_parse(lines, 0, found)
        return found.children

    def lines(self) -> Iterator[str]:
        raise NotImplementedError


class Plugins(Generated):
    required_arguments: ClassVar[int] = 1

    def lines(self) -> Iterator[str]:
        points = metadata.distribution(DISTRIBUTION).entry_points
        found = sorted(
            (each for each in points if each.group == self.arguments[0]),
            key=lambda each: each.name,
        )
        if not found:
            raise self.error(f'no entry points in {self.arguments[0]}')
        for point in found:
            said = inspect.getdoc(point.load()) or ''
            if not said:
                raise self.error(f'{point.value} has no docstring')
            yield f'``{point.name}``'
            for line in said.partition('\n\n')[0].splitlines():
                yield f'   {line}'
            yield ''


class Measures(Generated):
    def lines(self) -> Iterator[str]:
        yield from ('.. list-table::', '   :header-rows: 1', '')
        for cells in (
            ('measure', 'unit', 'what it is'),
            *(
                (f'``{each.name}``', each.unit, each.text)
                for each in measures.MEASURES
            ),
        ):
            first, *others = cells
            yield f'   * - {first}'
            for cell in others:
                yield f'     - {cell}'.rstrip()
        yield ''


def setup(app: application.Sphinx) -> dict[str, Any]:
    app.add_directive('plugins', Plugins)
    app.add_directive('measures', Measures)
    return {'parallel_read_safe': True}
