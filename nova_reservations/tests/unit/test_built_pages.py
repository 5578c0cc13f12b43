# SPDX-License-Identifier: Apache-2.0
"""The build of the documentation refuses pages with dead links, and such as
load anything from another host."""

import pathlib
import runpy

import pytest

_EXT = pathlib.Path(__file__).parents[3] / 'doc' / 'ext'
faults = runpy.run_path(str(_EXT / 'built_pages.py'))['faults']

OTHER = """<h1 id="there">Title</h1> <a href="page.html">back</a>"""


@pytest.mark.parametrize(
    'right',
    [
        '<a href="other.html">text</a>',
        '<a href="other.html#there">text</a>',
        '<p id="here"><a href="#here">text</a></p>',
        '<a href="https://docs.openstack.org/nova">text</a>',
        '<a href="mailto:somebody@example.org">text</a>',
        '<script src="code.js?v=1"></script>',
        '<svg xmlns="http://www.w3.org/2000/svg"></svg>',
        '<img src="data:image/png;base64,AAAA">',
    ],
)
def test_a_right_page_is_built(right, tmp_path):
    assert list(_faults(tmp_path, right)) == []


@pytest.mark.parametrize(
    ('wrong', 'said'),
    [
        ('<a href="gone.html">', 'the link gone.html leads nowhere'),
        ('<a href="other.html#x">', 'the link other.html#x leads nowhere'),
        ('<a href="#x">', 'the link #x leads nowhere'),
        ('<img src="gone.png">', 'loads gone.png, which is not there'),
        (
            '<script src="https://cdn.example/a.js"></script>',
            'loads https://cdn.example/a.js',
        ),
        (
            '<script>import a from "https://cdn.example/a.mjs"</script>',
            'loads https://cdn.example/a.mjs',
        ),
        (
            '<link rel="stylesheet" href="//cdn.example/a.css">',
            'loads //cdn.example/a.css',
        ),
        (
            '<style>@import url("https://cdn.example/a.css")</style>',
            'loads https://cdn.example/a.css',
        ),
        (
            '<p style="background: url(https://cdn.example/a.png)">',
            'loads https://cdn.example/a.png',
        ),
    ],
)
def test_a_wrong_link_is_named(wrong, said, tmp_path):
    assert list(_faults(tmp_path, wrong)) == [f'page.html: {said}']


def test_a_style_sheet_loads_nothing_from_elsewhere(tmp_path):
    (tmp_path / 'a.css').write_text('@import "https://cdn.example/b.css";')

    assert list(faults(tmp_path)) == ['a.css: loads https://cdn.example/b.css']


def _faults(folder: pathlib.Path, text: str):
    (folder / 'page.html').write_text(text)
    (folder / 'other.html').write_text(OTHER)
    (folder / 'code.js').write_text('')
    return faults(folder)
