# SPDX-License-Identifier: Apache-2.0
"""Ids of leases, of their reservations and events.

They are UUIDs that begin with the time (version 7, RFC 9562, section 5.7), so
that rows which are written together lie together. Random ids would spread rows
over all pages of the tables, so that each write and read would cost the more,
the more leases there have been.

An id says when it was made, and is as hard to guess as a random one.

Decision 0047: doc/source/decisions/0047-ids-begin-with-the-time
"""

import uuid

import uuid6


def new() -> str:
    """Return an id that is larger than all that this process made before."""
    return str(uuid6.uuid7())


def is_like(text: str) -> bool:
    """Return whether a text could be one of these ids. Those of other services
    are random, and have version 4."""
    try:
        return uuid.UUID(text).version == 7
    except ValueError:
        return False
