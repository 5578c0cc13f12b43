# SPDX-License-Identifier: Apache-2.0
"""A real Neutron, without keystone and networks, in a process of its own.

Nova and Neutron cannot share a process, since both use the global
configuration.

Arguments: a folder for Neutron's files, and the descriptor of a socket.
"""

import importlib
import os
import pathlib
import socket
import sys
import tempfile

import sqlalchemy as sa
import waitress

from sandbox import config
from sandbox import databases
from sandbox import layout as lo


def main() -> None:
    directory, descriptor = pathlib.Path(sys.argv[1]), int(sys.argv[2])
    layout = lo.Layout(directory, dict.fromkeys(lo.APIS, 1), real=('neutron',))
    layout.save()
    config.write(layout)
    with (layout.etc / 'ml2.ini').open('a') as file:
        file.write('[DEFAULT]\nauth_strategy = noauth\n')
    sys.path.insert(0, str(layout.site))
    sys.argv = ['neutron']
    os.environ |= {
        'OS_NEUTRON_CONFIG_DIR': str(layout.etc),
        'OS_NEUTRON_CONFIG_FILES': 'neutron.conf;ml2.ini',
        'XDG_CACHE_HOME': str(directory / 'cache'),
    }
    # As in sandbox/serve.py.
    tempfile.tempdir = str(directory)
    databases.begin_late()
    head = importlib.import_module('neutron.db.migration.models.head')
    engine = sa.create_engine(layout.database('neutron'))
    head.get_metadata().create_all(engine)
    waitress.serve(
        importlib.import_module('neutron.wsgi.api').application,
        sockets=[socket.socket(fileno=descriptor)],
        threads=2,
    )


if __name__ == '__main__':
    main()
