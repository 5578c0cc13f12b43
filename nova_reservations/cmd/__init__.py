# SPDX-License-Identifier: Apache-2.0
"""Commands for operators; each runs as a process of Nova."""

import os
import sys

# Nova needs this setting before any of its modules is imported. The
# environment is the only way to set it in Nova 32, and in Nova 31, which reads
# it at the import.
os.environ.setdefault('OS_NOVA_DISABLE_EVENTLET_PATCHING', 'true')

try:
    from nova import monkey_patch
except ModuleNotFoundError as error:
    if error.name != 'nova':
        raise
    sys.exit(
        f'Nova is not installed in {sys.prefix}: install nova-reservations '
        'into the Python environment of Nova, and run its command there.'
    )

if hasattr(monkey_patch, 'patch'):  # Nova 31 has only the setting.
    monkey_patch.patch()
