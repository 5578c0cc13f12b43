# SPDX-License-Identifier: Apache-2.0
"""Notes of what is not released yet have the version that it will have.

reno groups notes by the tags of git. Before the first tag it calls their
version 0.0.0, and later that of the last tag with a number of commits.
"""

import re

from docutils import nodes
from sphinx import application

_PAGE = 'releasenotes'
_UNRELEASED = re.compile(r'0\.0\.0|[\d.]+-\d+')


def _name(app: application.Sphinx, doctree: nodes.document) -> None:
    if app.env.docname != _PAGE:
        return
    for title in doctree.findall(nodes.title):
        if _UNRELEASED.fullmatch(title.astext()):
            version = app.config.release.partition('.dev')[0]
            title.children = [nodes.Text(f'{version} (not released yet)')]


def setup(app: application.Sphinx) -> dict[str, bool]:
    app.connect('doctree-read', _name)
    return {'parallel_read_safe': True}
