# SPDX-License-Identifier: Apache-2.0
"""Serves Horizon, in .venv-dashboard, which has nothing of the project.

Arguments: its port, and the process id of the sandbox.
"""

import sys

from django.core import management

from sandbox.parent import die_with


def main() -> None:
    port, parent = sys.argv[1:]
    die_with(int(parent))
    # --insecure has it serve its own style and scripts, as a web server would.
    management.execute_from_command_line(
        [
            'django-admin',
            *('runserver', '--noreload', '--insecure', f'127.0.0.1:{port}'),
        ]
    )


if __name__ == '__main__':
    main()
