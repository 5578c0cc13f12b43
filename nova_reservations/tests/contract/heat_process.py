# SPDX-License-Identifier: Apache-2.0
"""A real Heat, without keystone and other services, in a process of its own.

Nova and Heat cannot share a process, since both use the global configuration.

The headers of a request name its user and project.

Arguments: a folder for Heat's files, and the descriptor of a socket.
"""

import json
import pathlib
import socket
import sys

import waitress

from sandbox import config
from sandbox import databases
from sandbox import layout as lo
from sandbox import orchestration


def main() -> None:
    directory, descriptor = pathlib.Path(sys.argv[1]), int(sys.argv[2])
    layout = lo.Layout(
        directory, dict.fromkeys(lo.apis(['heat']), 1), real=('heat',)
    )
    layout.save()
    config.write(layout)
    file = layout.etc / 'heat.conf'
    file.write_text(
        file.read_text()
        .replace('[paste_deploy]', '[paste_deploy]\nflavor = noauth')
        # The default method needs a trust from keystone.
        .replace('[DEFAULT]', '[DEFAULT]\ndeferred_auth_method = password')
        + f'\n[oslo_policy]\npolicy_file = {layout.etc}/policy.json\n'
    )
    # Without keystone nobody has a role, so everybody may make requests.
    rules = dict.fromkeys(
        (
            'actions:suspend',
            'stacks:create',
            'stacks:delete',
            'stacks:index',
            'stacks:preview',
        ),
        '@',
    )
    # Nobody is an administrator: Heat would show them stacks of others.
    rules['context_is_admin'] = '!'
    (layout.etc / 'policy.json').write_text(json.dumps(rules))
    sys.argv = ['heat']
    databases.begin_late()
    orchestration.configure(layout)
    # The tables must exist before the engine starts.
    from heat.db import migration
    from heat.wsgi import api

    migration.db_sync()
    orchestration.start()
    waitress.serve(
        api.application,
        sockets=[socket.socket(fileno=descriptor)],
        threads=4,
    )


if __name__ == '__main__':
    main()
