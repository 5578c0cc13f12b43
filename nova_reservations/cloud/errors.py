# SPDX-License-Identifier: Apache-2.0
"""Nova's databases and its message bus fail in their own words."""

from collections.abc import Iterator
import contextlib

import amqp
from kombu import exceptions as kombu_exc
from oslo_db import exception as db_exc
import oslo_messaging
from sqlalchemy import exc as sa_exc

from nova_reservations import exception


@contextlib.contextmanager
def translated() -> Iterator[None]:
    """Raise CloudUnavailable where Nova's database or bus fails.

    A deadlock counts: it says only that somebody else was first, and what
    we do may be repeated.
    """
    try:
        yield
    except (
        db_exc.DBError,
        db_exc.CantStartEngineError,
        # What oslo.db does not know, as PostgreSQL's server being down.
        sa_exc.OperationalError,
        # All connections of the pool are in use.
        sa_exc.TimeoutError,
    ) as error:
        raise exception.CloudUnavailable(
            service="Nova's database", reason=error
        ) from error
    except (
        oslo_messaging.MessagingException,
        # What oslo.messaging lets through while it opens a connection.
        kombu_exc.KombuError,
        amqp.AMQPError,
        OSError,
    ) as error:
        raise exception.CloudUnavailable(
            service="Nova's message bus", reason=error
        ) from error
