# SPDX-License-Identifier: Apache-2.0
"""A Nova with the configuration of our previous release starts, and leases."""

import configparser
import datetime
import pathlib

import nova.conf
from nova.conf import scheduler
from oslo_config import cfg

from nova_reservations import conf
from nova_reservations.tests import previous_release
from nova_reservations.tests.functional.nova import base

CONF = nova.conf.CONF
FILES = pathlib.Path(previous_release.__file__).parent

# The test sets these options itself: see base.
KEPT = frozenset({'connection', 'enable_engine', 'enable_polling_monitor'})

# Nova's fixtures replace the notification drivers.
_DRIVERS = 'oslo_messaging_notifications'


def read(path: pathlib.Path) -> configparser.ConfigParser:
    parser = configparser.ConfigParser(
        default_section='none', interpolation=None, strict=False
    )
    # PasteDeploy distinguishes upper from lower case.
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read(path)
    return parser


class PreviousReleaseTest(base.NovaTestCase):
    hosts = ('host1', 'host2')

    def _install(self, directory: pathlib.Path) -> None:
        super()._install(directory)
        self._configure()
        paste = read(base.PASTE)
        paste.read(FILES / 'api-paste.ini')
        file = directory / 'their-api-paste.ini'
        with file.open('w') as output:
            paste.write(output)
        self.flags(api_paste_config=str(file), group='wsgi')

    def _configure(self) -> None:
        """Set each option that the old nova.conf names to its value there."""
        theirs = cfg.ConfigOpts()
        scheduler.register_opts(theirs)
        conf.register_opts(theirs)
        theirs(['--config-file', str(FILES / 'nova.conf')])
        named = read(FILES / 'nova.conf')
        for group in named.sections():
            if group == _DRIVERS:
                continue
            options = theirs if group == 'DEFAULT' else theirs[group]
            for name in named[group]:
                if name not in KEPT:
                    self.flags(
                        **{name: options[name]},
                        group=None if group == 'DEFAULT' else group,
                    )

    def test_a_server_is_made_in_a_lease(self):
        self.enrol('host1')
        until = self.now + datetime.timedelta(hours=1)
        host = {'resource_type': 'physical:host', 'min': 1, 'max': 1}
        answer = self.api.api_post(
            '/os-reservations/v1/leases',
            {
                'name': 'lease',
                'start_date': 'now',
                'end_date': until.strftime('%Y-%m-%d %H:%M'),
                'reservations': [
                    {
                        **host,
                        'hypervisor_properties': '',
                        'resource_properties': '',
                    }
                ],
            },
            check_response_status=[201],
        )
        self.work()
        [reservation] = answer.body['lease']['reservations']
        server = self.boot(hint=reservation['id'])
        self.assertEqual('host1', self.host_of(server))
        self.assertEqual('host2', self.host_of(self.boot()))
