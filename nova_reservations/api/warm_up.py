# SPDX-License-Identifier: Apache-2.0
"""Work of the first requests that can be done when the application is loaded.

nova-api loads its application in a master process, which then forks its
workers, so that all workers profit from this work. Nothing here may open a
connection or start a thread, because these do not survive the fork.
"""

import functools
import gc

from nova_reservations.db import models


@functools.cache
def warm_up() -> None:
    """Configure the database models, and collect garbage; once in a process.

    Nova's modules leave so many objects that a full garbage collection would
    soon run in the middle of a request, and take longer than ten requests.
    After this collection the next full one only runs when there are a quarter
    more objects.
    """
    models.configure()
    gc.collect()
