# SPDX-License-Identifier: Apache-2.0
"""Databases that refuse the name or the password.

They are at work, so it helps nobody to hear that they can not be reached.
"""

import re

_MYSQL = ((1044,), (1045,), (1698,))
"""The first argument of the driver's error, for MySQL and MariaDB."""

_POSTGRESQL = re.compile('authentication failed for|FATAL: +role ')
"""Parts of the message: the driver gives no code where no connection is."""


def is_refused(error: BaseException) -> bool:
    """Return whether an error, of oslo.db or SQLAlchemy, means that."""
    cause = getattr(error, 'inner_exception', None) or error
    said = getattr(cause, 'orig', None)
    if said is None:
        return False
    return said.args[:1] in _MYSQL or bool(_POSTGRESQL.search(str(said)))
