# SPDX-License-Identifier: Apache-2.0
"""Fail a build of HTML if a link within the pages leads nowhere, or if a page
would load anything from another host.

Sphinx itself warns of an unknown :doc: or :ref:. This looks at what it wrote:
links of raw HTML, of generated pages and of the theme are in it, too.
"""

from collections.abc import Iterator
import html.parser
import pathlib
import re
import urllib.parse

from sphinx import application
from sphinx.util import logging

LOG = logging.getLogger(__name__)

_LOADED = {'script': 'src', 'img': 'src', 'iframe': 'src', 'source': 'src'}
"""Element -> the attribute with the URL of what a browser loads for it."""

_IN_TEXT = re.compile(
    r"""(?:url\(|@import|\bimport\b[^;'"]*|\bfrom)\s*['"]?((?:https?:)?//[^'")\s]+)"""
)
"""What scripts and style sheets load."""


class Page(html.parser.HTMLParser):
    """What one page has.

    :ivar names: what a link can lead to
    :ivar links: URLs of links
    :ivar loads: URLs of what a browser loads with the page
    """

    def __init__(self, text: str) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(
        self, tag: str, attrs: list[tuple[str, str | None]]
    ) -> None:
        given = {name: value for name, value in attrs if value}
        self.names.update(given[key] for key in ('id', 'name') if key in given)
        if tag == 'a' and 'href' in given:
            self.links.append(given['href'])
        if tag == 'link' and 'href' in given:
            self.loads.append(given['href'])
        if tag in _LOADED and _LOADED[tag] in given:
            self.loads.append(given[_LOADED[tag]])
        self.loads += _IN_TEXT.findall(given.get('style', ''))

    def handle_data(self, data: str) -> None:
        if self.lasttag in ('script', 'style'):
            self.loads += _IN_TEXT.findall(data)


def faults(folder: pathlib.Path) -> Iterator[str]:
    """Yield what is wrong with the pages in the folder and below it."""
    pages = {
        path: Page(path.read_text())
        for path in sorted(folder.rglob('*.html'))
        # A copy of our own templates of pages is none.
        if '_static' not in path.relative_to(folder).parts
    }
    for path, page in pages.items():
        name = path.relative_to(folder)
        for url in page.links:
            if not _leads_somewhere(url, path, pages):
                yield f'{name}: the link {url} leads nowhere'
        for url in page.loads:
            if _host(url):
                yield f'{name}: loads {url}'
            elif not _leads_somewhere(url, path, pages):
                yield f'{name}: loads {url}, which is not there'
    for path in sorted(folder.rglob('*.css')):
        for url in _IN_TEXT.findall(path.read_text()):
            yield f'{path.relative_to(folder)}: loads {url}'


def _host(url: str) -> str:
    return urllib.parse.urlsplit(url).netloc


def _leads_somewhere(
    url: str, path: pathlib.Path, pages: dict[pathlib.Path, Page]
) -> bool:
    parts = urllib.parse.urlsplit(url)
    if parts.scheme or parts.netloc:
        return True
    target = path
    if parts.path:
        target = (path.parent / urllib.parse.unquote(parts.path)).resolve()
    if target not in pages:
        return target.is_file()
    fragment = urllib.parse.unquote(parts.fragment)
    return not fragment or fragment in pages[target].names


def _check(app: application.Sphinx, failure: Exception | None) -> None:
    if failure is None and app.builder.format == 'html':
        for fault in faults(pathlib.Path(app.outdir).resolve()):
            LOG.warning('%s', fault)


def setup(app: application.Sphinx) -> dict[str, bool]:
    # Other extensions write files when the pages are built, too.
    app.connect('build-finished', _check, priority=900)
    return {'parallel_read_safe': True}
