# SPDX-License-Identifier: Apache-2.0
"""The page of a calendar in Chromium, without a window.

It fails where there is none: tools/chromium installs Debian's, if it may.
"""

from collections.abc import Callable
import pathlib
import re
import shutil
import subprocess

from PIL import Image
import pytest

from osc_nova_reservations.calendar import model
from osc_nova_reservations.calendar import page
from osc_nova_reservations.tests import calendars
from osc_nova_reservations.tests.calendars import bar

SCRIPT = '<script>document.title = "bad"</script>'
SIZE = 1200, 800
FLAGS = (
    '--headless',
    '--no-sandbox',
    '--disable-gpu',
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
    '--no-first-run',
    '--hide-scrollbars',
)


@pytest.fixture(scope='module')
def file(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A page with bars of all kinds, and a name that is a script."""
    rows = (
        model.Row('compute-1', (bar(0, 3, SCRIPT, lease_id='id-1'),)),
        *(
            model.Row(f'compute-{number}', (bar(1, 5, kind, kind),))
            for number, kind in enumerate(model.Kind, 2)
        ),
    )
    shown = calendars.calendar(*rows, leases=(calendars.lease(SCRIPT),))
    written = tmp_path_factory.mktemp('page') / 'calendar.html'
    written.write_text(page.html(shown))
    return written


@pytest.fixture
def chromium(tmp_path: pathlib.Path) -> Callable[..., str]:
    """Run Chromium, with a profile of its own; return what it says."""
    program = shutil.which('chromium')
    if program is None:
        pytest.fail('there is no chromium: see tools/chromium')

    def run(*words: str) -> str:
        profile = f'--user-data-dir={tmp_path / "profile"}'
        size = f'--window-size={SIZE[0]},{SIZE[1]}'
        return subprocess.run(
            [program, *FLAGS, profile, size, *words],
            capture_output=True,
            text=True,
            check=True,
            timeout=120,
        ).stdout

    return run


def test_the_page_is_read_as_it_was_meant(chromium, file):
    dom = chromium('--dump-dom', file.as_uri())
    assert '<title>Hosts, 1 March 2027 to 7 March 2027</title>' in dom
    assert '<script' not in dom
    assert dom.count('&lt;script&gt;document.title') >= 3
    # A browser moves elements that are not allowed in a table out of it.
    rows = re.findall('<tr><th scope="row".*?</tr>', dom, re.DOTALL)
    assert len(rows) == 1 + len(model.Kind)
    assert all(row.count('class="bar') == 1 for row in rows)


def test_the_page_is_drawn(chromium, file, tmp_path):
    picture = tmp_path / 'calendar.png'
    chromium(f'--screenshot={picture}', file.as_uri())
    with Image.open(picture) as image:
        assert image.size == SIZE
        colours = image.convert('RGB').getcolors(SIZE[0] * SIZE[1]) or []
    # The background, a lease, a hold and a host that others have: each colour
    # fills at least half of the row of a day.
    seen = {colour: count for count, colour in colours}
    for wanted in ('f6f7f9', '1d5fbf', 'fbe3b3', 'd9dee5'):
        assert seen.get(tuple(bytes.fromhex(wanted)), 0) > 1000, wanted
