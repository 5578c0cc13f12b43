# SPDX-License-Identifier: Apache-2.0
"""Commands for operators; each runs as a process of Nova."""

import os

from nova import monkey_patch

# Nova needs this setting before any other of its modules is imported. The
# environment is the only way to set it in Nova 32.
os.environ.setdefault('OS_NOVA_DISABLE_EVENTLET_PATCHING', 'true')
monkey_patch.patch()
