# SPDX-License-Identifier: Apache-2.0
"""The commands of operators; each is a process of Nova."""

import os

from nova import monkey_patch

# Nova wants this decided before any more of it is imported. By the
# environment, because Nova 32 can't be told in any other way.
os.environ.setdefault('OS_NOVA_DISABLE_EVENTLET_PATCHING', 'true')
monkey_patch.patch()
