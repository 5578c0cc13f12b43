# SPDX-License-Identifier: Apache-2.0
"""A real Heat, without keystone and without other services, in a process:
where Nova is tested it can not be, for both have one configuration.

Whoever asks it is the user, in the project, that its headers name.

Arguments: a folder for its files, and the descriptor of a socket.
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
        # Keystone would have to give a trust.
        .replace('[DEFAULT]', '[DEFAULT]\ndeferred_auth_method = password')
        + f'\n[oslo_policy]\npolicy_file = {layout.etc}/policy.json\n'
    )
    # Without keystone nobody is a member of anything.
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
    # To an administrator Heat shows what is of others.
    rules['context_is_admin'] = '!'
    (layout.etc / 'policy.json').write_text(json.dumps(rules))
    sys.argv = ['heat']
    databases.begin_late()
    orchestration.configure(layout)
    # The tables are there before the engine looks at them.
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
