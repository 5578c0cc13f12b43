# SPDX-License-Identifier: Apache-2.0
"""A person who sees and does things in Horizon, in a Chromium without a
window."""

from collections.abc import Callable
import pathlib
import shutil
import tempfile
from typing import TypeVar

from PIL import Image
import pytest
from selenium import webdriver
from selenium.common import exceptions
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common import action_chains
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support import wait

from sandbox import polls

T = TypeVar('T')

FLAGS = (
    '--headless=new',
    '--no-sandbox',
    '--disable-gpu',
    '--disable-dev-shm-usage',
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
    '--no-first-run',
    '--hide-scrollbars',
)

#: Seconds that a page may take on an idle machine.
PATIENCE = 30

#: As often as something is seen in one place that does not move any more.
STAYED = 10

SIZE = 1200, 800

LEASES = '/project/leases/'
HOSTS = '/admin/hosts/'
CALENDAR = '/project/leases/calendar/host/'

#: What Horizon says, above the page or at a field.
_SAID = '.alert, .help-block, .modal-body .errorlist'


def chromium() -> webdriver.Chrome:
    """Start Debian's Chromium. Fail, rather than skip, where there is none."""
    program, driver = map(shutil.which, ('chromium', 'chromedriver'))
    if not program or not driver:
        pytest.fail('there is no chromium or chromedriver: see tools/chromium')
    options = webdriver.ChromeOptions()
    options.binary_location = program
    for flag in (*FLAGS, '--window-size={},{}'.format(*SIZE)):
        options.add_argument(flag)
    # Selenium looks for a driver to download unless it is told of one.
    return webdriver.Chrome(options, Service(driver))


class Browser:
    """A Chromium in which somebody uses Horizon."""

    def __init__(self, url: str, driver: webdriver.Chrome) -> None:
        self.url = url
        self.driver = driver
        self.resize(SIZE[1])

    def resize(self, height: int) -> None:
        """Show pages in so many pixels; what is below is cut off."""
        self.driver.execute_cdp_cmd(
            'Emulation.setDeviceMetricsOverride',
            {
                'width': SIZE[0],
                'height': height,
                'deviceScaleFactor': 1,
                'mobile': False,
            },
        )

    def log_in(self, name: str) -> None:
        """Log in; everybody's password is their name."""
        self.open('/auth/login/')
        for field in ('username', 'password'):
            self.one(f'[name={field}]').send_keys(name)
        self.one('#loginBtn').click()
        self.until(lambda: '/auth/' not in self.driver.current_url)

    # What is there.

    @property
    def path(self) -> str:
        return self.driver.current_url.removeprefix(self.url)

    @property
    def text(self) -> str:
        """The text of the page, without what is around it."""
        return self.one('#content_body').text

    def until(self, look: Callable[[], T]) -> T:
        """Look until there is something; return it."""
        seconds = PATIENCE * polls.slowness()
        return wait.WebDriverWait(
            self.driver,
            seconds,
            poll_frequency=0.05,
            ignored_exceptions=(
                exceptions.NoSuchElementException,
                exceptions.StaleElementReferenceException,
                exceptions.ElementClickInterceptedException,
                exceptions.ElementNotInteractableException,
            ),
        ).until(lambda _: look())

    def visible(
        self, selector: str, within: WebElement | None = None
    ) -> list[WebElement]:
        found = (within or self.driver).find_elements(
            By.CSS_SELECTOR, selector
        )
        return [each for each in found if each.is_displayed()]

    def one(
        self, selector: str, within: WebElement | None = None
    ) -> WebElement:
        """Wait for the only visible element that there is; return it."""

        def look() -> WebElement | None:
            found = self.visible(selector, within)
            return found[0] if len(found) == 1 else None

        return self.until(look)

    def said(self) -> str:
        """Wait for Horizon to say something; return it."""

        def look() -> str:
            return ' '.join(
                ' '.join(each.text.removesuffix('Details').split())
                for each in self.visible(_SAID)
            )

        return self.until(look)

    def rows(self, path: str) -> dict[str, list[str]]:
        """Return name -> the cells of its row, of the table on a page."""
        self.open(path)
        return {
            cells[0]: cells
            for cells in (
                [
                    cell.text
                    for cell in row.find_elements(By.TAG_NAME, 'td')[1:]
                ]
                for row in self.visible('tr[data-object-id]')
            )
        }

    # What is done.

    def open(self, path: str) -> None:
        self.driver.get(self.url + path)

    def go(self, *labels: str) -> None:
        """Click from menu to menu on the left, down to a panel."""
        *menus, panel = labels
        for label in menus:
            menu = self.link(self.one('#sidebar-accordion'), label)
            # One that is open would close.
            if 'collapsed' in (menu.get_attribute('class') or ''):
                self.click(menu)
        self.click(self.link(self.one('#sidebar-accordion'), panel))

    def link(self, within: WebElement, label: str) -> WebElement:
        """Wait for the first link with this text; return it."""

        def look() -> WebElement | None:
            found = [
                each
                for each in self.visible('a', within)
                if each.text.strip() == label
            ]
            return found[0] if found else None

        return self.until(look)

    def click(self, element: WebElement) -> None:
        """Click on what may move, or be covered, for a moment."""

        def look() -> bool:
            element.click()
            return True

        self.until(look)

    def row(self, name: str) -> WebElement:
        """Return the row of the table that has this name."""

        def look() -> WebElement | None:
            for row in self.visible('tr[data-object-id]'):
                if row.find_elements(By.TAG_NAME, 'td')[1].text == name:
                    return row
            return None

        return self.until(look)

    def dialog(self, button: str) -> WebElement:
        """Click on what opens a dialog; return its form."""
        self.click(self.one(button))
        return self.one('.modal-dialog form')

    def fill(self, form: WebElement, **fields: str) -> None:
        """Type into fields, and choose from lists by what is shown."""
        for name, value in fields.items():
            field = form.find_element(By.NAME, name)
            if field.tag_name == 'select':
                self._choose(field, value)
            else:
                field.clear()
                field.send_keys(value)

    def _choose(self, select: WebElement, label: str) -> None:
        """Choose from a list; Horizon draws it beside the real one."""
        drawn = select.find_element(
            By.XPATH, './ancestor::*[contains(@class, "themable-select")][1]'
        )
        self.click(drawn.find_element(By.CSS_SELECTOR, '.dropdown-toggle'))
        self.click(self.link(drawn, label))

    def send(self, form: WebElement) -> str:
        """Press the button of a form; return what Horizon says then."""
        self.click(self.one('[type=submit]', form))
        return self.said()

    def hover(self, element: WebElement, seen: str) -> str:
        """Point at something until something else is seen: its text."""

        def point() -> str | None:
            actions = action_chains.ActionChains(self.driver)
            # Where the pointer stays, the page is told of no move.
            actions.move_by_offset(1, 1).move_to_element(element).perform()
            found = self.visible(seen)
            return found[0].text if found else None

        return self.until(point)

    def still(self, look: Callable[[], list[WebElement]]) -> list[WebElement]:
        """Wait for elements that a script draws, and moves at first; return
        them when they have stayed where they are for a while."""
        places: list[list[dict[str, float]]] = []

        def looked() -> list[WebElement] | None:
            found = look()
            places.append([each.rect for each in found])
            stayed = places[-STAYED:]
            still = len(stayed) == STAYED and all(
                each == places[-1] for each in stayed
            )
            return found if still else None

        return self.until(looked)

    def fill_page(self, path: str, **fields: str) -> str:
        """Fill in the form that is a page of its own, and send it."""
        self.open(path)
        form = self.one('#content_body form')
        self.fill(form, **fields)
        return self.send(form)

    def confirm(self) -> str:
        """Press the button of a dialog that asks whether one is sure; return
        what Horizon says then."""
        self.click(self.one('.modal-footer .btn-danger'))
        return self.said()

    def picture(self, file: pathlib.Path, height: int) -> None:
        """Write what is shown, as a small PNG."""
        self.resize(height)
        with tempfile.NamedTemporaryFile(suffix='.png') as whole:
            self.driver.save_screenshot(whole.name)
            with Image.open(whole.name) as image:
                image.convert('RGB').quantize(128).save(file, optimize=True)
        self.resize(SIZE[1])
