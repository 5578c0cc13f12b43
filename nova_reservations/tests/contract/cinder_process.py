# SPDX-License-Identifier: Apache-2.0
"""A real Cinder, without keystone and storage, in a process of its own.

Nova and Cinder cannot share a process, since both use the global
configuration.

Every request is an administrator's, in the project that its token names.

Arguments: a folder for Cinder's files, and the descriptor of a socket.
"""

import pathlib
import socket
import sys

import waitress

from sandbox import block_storage
from sandbox import config
from sandbox import databases
from sandbox import layout as lo


def main() -> None:
    directory, descriptor = pathlib.Path(sys.argv[1]), int(sys.argv[2])
    layout = lo.Layout(
        directory, dict.fromkeys(lo.apis(['cinder']), 1), real=('cinder',)
    )
    layout.save()
    config.write(layout)
    file = layout.etc / 'cinder.conf'
    file.write_text(
        file.read_text().replace(
            'auth_strategy = keystone', 'auth_strategy = noauth'
        )
    )
    sys.argv = ['cinder']
    databases.begin_late()
    block_storage.configure(layout)
    from cinder.common import config as _  # noqa: F401
    from cinder.db import migration
    from oslo_config import cfg

    cfg.CONF(sys.argv[1:], project='cinder')
    # The API reads the tables when it is imported.
    migration.db_sync()
    from cinder.wsgi import api

    block_storage.start()
    waitress.serve(
        api.application,
        sockets=[socket.socket(fileno=descriptor)],
        threads=4,
    )


if __name__ == '__main__':
    main()
