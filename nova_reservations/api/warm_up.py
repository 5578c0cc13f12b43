# SPDX-License-Identifier: Apache-2.0
"""The part of the first requests' work that can be done at load.

nova-api loads its application in a master, which then forks its workers.
Only what opens nothing and starts no thread may be done before that; all
workers have it then.
"""

import functools
import gc

from nova_reservations.db import models


@functools.cache
def warm_up() -> None:
    """Do it, once in a process.

    Nova's modules leave so many objects that the collector goes through all
    of them soon after, in the middle of a request, which takes longer than
    ten requests. When it has done so, it does again when there are a quarter
    more.
    """
    models.configure()
    gc.collect()
