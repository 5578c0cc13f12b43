# SPDX-License-Identifier: Apache-2.0
from collections.abc import Callable
from collections.abc import Iterator
import dataclasses
import pathlib

from nova.conf import database
from nova.conf import scheduler
from nova.conf import service_token
from nova.conf import wsgi
from oslo_config import cfg
import pytest

from nova_reservations import bootstrap
from nova_reservations import conf
from nova_reservations.cloud import conductors
from nova_reservations.cmd import manage
from nova_reservations.cmd import process
from nova_reservations.cmd import status
from nova_reservations.engine import assembly
from nova_reservations.testing import fake_cloud
from nova_reservations.tests.functional.nova import conftest as on_nova

# Tests in this folder share a Nova with those of functional/nova.
pytest_runtest_teardown = on_nova.pytest_runtest_teardown


@dataclasses.dataclass(frozen=True)
class Answer:
    """:ivar exit_code: the code; or the text of a SystemExit"""

    exit_code: int | str | None
    out: str
    err: str


class Controller:
    """A host on which commands are typed; its cloud is in memory."""

    def __init__(
        self, directory: pathlib.Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        self.cloud = fake_cloud.FakeCloud('h1', 'h2', 'h3')
        self.conf_file = directory / 'nova.conf'
        self.conf_file.write_text(
            f'[reservations]\nconnection = sqlite:///{directory}/r.db\n'
        )
        self._capsys = capsys
        self._services: list[assembly.Services] = []

    def manage(self, *words: str) -> Answer:
        opts = self._opts()
        opts.register_cli_opt(manage.COMMAND)
        return self._typed(
            lambda: manage.run(opts, self._build(opts)), opts, words
        )

    def status(self) -> Answer:
        opts = self._opts()
        return self._typed(
            lambda: status.Checks(opts, self._build(opts)).check(), opts
        )

    def results(self) -> dict[str, tuple[int, str | None]]:
        """Return check -> its code and its details."""
        opts = self._opts()
        opts(['--config-file', str(self.conf_file)])
        checks = status.Checks(opts, self._build(opts))
        results = {
            name: check(checks) for name, check in checks._upgrade_checks
        }
        return {
            name: (result.code, result.details)
            for name, result in results.items()
        }

    def services(self) -> assembly.Services:
        opts = self._opts()
        opts(['--config-file', str(self.conf_file)])
        return self._build(opts)

    def _opts(self) -> cfg.ConfigOpts:
        opts = cfg.ConfigOpts()
        conf.register_opts(opts)
        for module in (database, scheduler, service_token, wsgi):
            module.register_opts(opts)
        return opts

    def _build(self, opts: cfg.ConfigOpts) -> assembly.Services:
        services = bootstrap.build(
            opts, nova=self.cloud, notify=lambda *note: None
        )
        self._services.append(services)
        return services

    def _typed(
        self,
        act: Callable[[], int],
        opts: cfg.ConfigOpts,
        words: tuple[str, ...] = (),
    ) -> Answer:
        self._capsys.readouterr()
        exit_code: int | str | None
        try:
            with process.reporting(opts, 1):
                opts(['--config-file', str(self.conf_file), *words])
                exit_code = act()
        except SystemExit as end:
            exit_code = end.code
        return Answer(exit_code, *self._capsys.readouterr())

    def close(self) -> None:
        for services in self._services:
            services.database.dispose()


@pytest.fixture
def bare_controller(
    tmp_path: pathlib.Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Controller]:
    """A controller whose database has no tables yet."""
    monkeypatch.setattr(conductors, 'unreachable', list)
    controller = Controller(tmp_path, capsys)
    yield controller
    controller.close()


@pytest.fixture
def controller(bare_controller: Controller) -> Controller:
    """A controller after db sync."""
    assert bare_controller.manage('db', 'sync').exit_code == 0
    return bare_controller
