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
ALLOWED_HOSTS = ['127.0.0.1']
# In place of a memcached.
CACHES = {
    'default': {'BACKEND': 'django.core.cache.backends.locmem.LocMemCache'}
}
# A story does not look at its style.
COMPRESS_ENABLED = False
COMPRESS_PRECOMPILERS = ()
