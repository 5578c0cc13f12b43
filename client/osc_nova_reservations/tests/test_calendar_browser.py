# SPDX-License-Identifier: Apache-2.0
"""The page of a calendar in Chromium, without a window.

It fails where there is none: tools/chromium installs Debian's, if it may.
"""

from collections.abc import Callable
import dataclasses
import html
import json
import pathlib
import re
import shutil
import subprocess

from PIL import Image
import pytest

from osc_nova_reservations.calendar import layout
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
    ended = dataclasses.replace(
        calendars.lease('old', 'id-2'), status='TERMINATED'
    )
    shown = calendars.calendar(*rows, leases=(calendars.lease(SCRIPT), ended))
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


@pytest.mark.parametrize(
    ('scheme', 'wanted'),
    [
        (1, ('f6f7f9', '1d5fbf', 'fbe3b3', 'd9dee5')),
        (0, ('12161c', '2c6fd1', '4a3a12', '36404d')),
    ],
    ids=['light', 'dark'],
)
def test_the_page_is_drawn(chromium, file, tmp_path, scheme, wanted):
    picture = tmp_path / 'calendar.png'
    chromium(
        f'--screenshot={picture}',
        f'--blink-settings=preferredColorScheme={scheme}',
        file.as_uri(),
    )
    with Image.open(picture) as image:
        assert image.size == SIZE
        colours = image.convert('RGB').getcolors(SIZE[0] * SIZE[1]) or []
    # The background, a lease, a hold and a host that others have: each colour
    # fills at least half of the row of a day.
    seen = {colour: count for count, colour in colours}
    for each in wanted:
        assert seen.get(tuple(bytes.fromhex(each)), 0) > 1000, each


@pytest.mark.parametrize(
    ('target', 'folded'), [('', True), ('#id-1', True), ('#id-2', False)]
)
def test_a_link_to_a_lease_that_is_over_unfolds_it(
    chromium, file, target, folded
):
    dom = chromium('--dump-dom', file.as_uri() + target)
    assert ('<details>' in dom) == folded
    assert ('<details open="">' in dom) == (not folded)


WIDTHS = 375, 800, 1200
FONTS = 'system-ui', 'monospace', 'DejaVu Sans'
MEASURED = """
onload = () => {
  const of = (element) => {
    const box = element.getBoundingClientRect();
    return [box.left, box.right];
  };
  const shown = [...document.querySelectorAll("iframe")].map((frame) => {
    const page = frame.contentDocument;
    const wide = [...page.querySelectorAll("body *")].filter(
      (each) => !each.closest(".frame > *") && each.checkVisibility() &&
        of(each)[1] > frame.clientWidth);
    return {
      width: frame.clientWidth,
      scrolls: page.documentElement.scrollWidth,
      wide: wide.map((each) => each.outerHTML),
      lists: [...page.querySelectorAll(".list")].map(
        (list) => list.scrollWidth - list.parentElement.clientWidth),
      chart: of(page.querySelector("td")),
      lanes: [...page.querySelectorAll("td > ul")].map(
        (row) => [...row.children].map((bar) => {
          const name = bar.querySelector(".name");
          const beside = bar.matches(".before, .after");
          return {
            text: name.textContent,
            lane: bar.style.getPropertyValue("--lane"),
            bar: of(bar),
            name: beside ? of(name) : null,
            hidden: name.scrollWidth - name.clientWidth,
          };
        })),
    };
  });
  const told = document.createElement("pre");
  told.textContent = JSON.stringify(shown);
  document.body.replaceChildren(told);
};
"""


@pytest.fixture
def measured(chromium, tmp_path):
    """Show a page in frames of all widths, and return where its bars are.

    The page itself runs no script: what it is shown in does.
    """

    def measured(text):
        frames = ''.join(
            f'<iframe width={width} height=800 style="border: 0" '
            f'srcdoc="{html.escape(text)}"></iframe>'
            for width in WIDTHS
        )
        file = tmp_path / 'frames.html'
        file.write_text(
            f'<meta charset="utf-8"><body>{frames}<script>{MEASURED}</script>'
        )
        dom = chromium('--dump-dom', file.as_uri())
        found = json.loads(
            html.unescape(re.findall('<pre>(.*)</pre>', dom)[0])
        )
        assert [each['width'] for each in found] == [*WIDTHS]
        return found

    return measured


def crowded():
    """Return a page of two weeks with short leases, close to each other."""
    names = (
        'demo',
        'nightly builds',
        'Grundkurs 4',
        '\u4e2d\u6587\u8bfe\u7a0b',
    )
    rows = [
        model.Row(
            f'compute-{step}.rack-2.example.org',
            tuple(
                bar(
                    day,
                    day + length,
                    names[number % 4],
                    lease_id='id-1',
                )
                for number, day in enumerate(range(0, 14, step))
            ),
        )
        for step, length in ((1, 1 / 24), (2, 0.3), (3, 1.2), (5, 2), (13, 1))
    ]
    window = model.Window(calendars.at(0), calendars.at(14), calendars.ROME)
    return page.html(
        calendars.calendar(
            *rows,
            window=layout.whole_days(window),
            leases=(calendars.lease('w' * 99), calendars.lease('old', 'id-2')),
        )
    )


def test_a_page_is_as_wide_as_a_phone_and_only_the_chart_scrolls(measured):
    found = measured(crowded())
    for shown in found:
        assert shown['scrolls'] <= shown['width']
        assert shown['wide'] == []
    # The leases are cards there.
    assert max(found[0]['lists']) <= 0


@pytest.mark.parametrize('font', FONTS)
def test_names_are_beside_short_bars_and_over_nothing(measured, font):
    text = crowded().replace(
        'font: 15px/1.45 system-ui', f'font: 15px/1.45 {font}'
    )
    beside = 0
    for shown in measured(text):
        first, last = shown['chart']
        for row in shown['lanes']:
            ends: dict[str, float] = {}
            for each in row:
                boxes = [each['bar']] + [each['name']] * bool(each['name'])
                left = min(box[0] for box in boxes)
                # Half a pixel is lost by rounding.
                assert left >= ends.get(each['lane'], first) - 0.5
                ends[each['lane']] = max(box[1] for box in boxes)
                assert ends[each['lane']] <= last + 0.5
                if each['name']:
                    beside += 1
                    assert each['name'][1] - each['name'][0] > 20
                    # Only a font that is wider than all usual ones is cut.
                    assert each['hidden'] <= (20 if font == 'monospace' else 0)
    assert beside > 3 * 20
