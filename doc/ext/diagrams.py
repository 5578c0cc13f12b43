# SPDX-License-Identifier: Apache-2.0
"""The directive ``mermaid``: a diagram that is drawn when the pages are
built, so that a page loads nothing from elsewhere.
"""

import html
import pathlib
from typing import Any
from typing import ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
import mmdr
from sphinx import application
from sphinx.util import docutils

_NAME = 'merman'
"""What a drawing and its styles are called: one page may have several."""


class Mermaid(docutils.SphinxDirective):
    """The text is in the directive, or in the file that it names."""

    has_content = True
    optional_arguments = 1
    option_spec: ClassVar[dict[str, Any]] = {
        'alt': directives.unchanged_required,
    }

    def run(self) -> list[nodes.Node]:
        text = '\n'.join(self.content)
        if self.arguments:
            name, path = self.env.relfn2path(self.arguments[0])
            self.env.note_dependency(name)
            text = pathlib.Path(path).read_text()
        if 'alt' not in self.options:
            raise self.error('a diagram needs an :alt: for those who hear it')
        name = f'diagram-{self.env.new_serialno("diagram")}'
        try:
            drawn = mmdr.render(text).svg().replace(_NAME, name)
        except ValueError as error:
            raise self.error(str(error)) from error
        said = html.escape(self.options['alt'])
        opened = f'<div class="diagram" role="img" aria-label="{said}">'
        return [nodes.raw('', f'{opened}{drawn}</div>', format='html')]


def setup(app: application.Sphinx) -> dict[str, bool]:
    app.add_directive('mermaid', Mermaid)
    return {'parallel_read_safe': True}
