# SPDX-License-Identifier: Apache-2.0
"""Horizon's settings: its own, with blazar-dashboard's panels.

Django reads them, in .venv-dashboard, which has nothing of the project.
"""

import os

from blazar_dashboard import enabled as panels
from openstack_dashboard.local import enabled

# In place of copying the files there, as blazar-dashboard's guide says.
enabled.__path__.extend(panels.__path__)

from openstack_dashboard.settings import *  # noqa: E402, F403

OPENSTACK_KEYSTONE_URL = os.environ['OS_AUTH_URL']
SECRET_KEY = 'sandbox'
# The second is where an SSH forwards the port to.
ALLOWED_HOSTS = ['127.0.0.1', 'localhost']
# In place of a memcached. Django keeps 300 entries, unless told otherwise:
# what Horizon notes of its style and scripts would throw out the sessions.
CACHES = {
    'default': {
        'BACKEND': 'django.core.cache.backends.locmem.LocMemCache',
        'OPTIONS': {'MAX_ENTRIES': 100_000},
    }
}
# The style is compiled, and the scripts are joined, when the first page is
# asked for.
STATIC_ROOT = os.environ['STATIC_ROOT']
