# SPDX-License-Identifier: Apache-2.0
"""The command openstack, as the people of a story run it."""

import os
import pathlib
import subprocess
import sys

_OPENSTACK = pathlib.Path(sys.executable).with_name('openstack')


def openstack(
    auth_url: str, name: str, *arguments: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [_OPENSTACK, *arguments],
        env=os.environ
        | {
            'OS_AUTH_URL': auth_url,
            'OS_USERNAME': name,
            'OS_PASSWORD': name,
            'OS_PROJECT_NAME': name,
            'OS_USER_DOMAIN_NAME': 'Default',
            'OS_PROJECT_DOMAIN_NAME': 'Default',
            'OS_IDENTITY_API_VERSION': '3',
        },
        capture_output=True,
        text=True,
        check=False,
    )
