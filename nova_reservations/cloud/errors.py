# SPDX-License-Identifier: Apache-2.0
"""Translation of errors of Nova's databases, its message bus and keystone."""

from collections.abc import Iterator
import contextlib

import amqp
from keystoneauth1 import exceptions as ks_exc
from kombu import exceptions as kombu_exc
from oslo_db import exception as db_exc
import oslo_messaging
from sqlalchemy import exc as sa_exc

from nova_reservations import exception
from nova_reservations.objects import logins


@contextlib.contextmanager
def translated() -> Iterator[None]:
    """Raise CloudUnavailable where Nova's database or message bus fails.

    This includes deadlocks: they only mean that another transaction was
    first, and all our operations can be repeated.
    """
    try:
        yield
    except (
        db_exc.DBError,
        db_exc.CantStartEngineError,
        # oslo.db does not translate all of these, such as that PostgreSQL is
        # down.
        sa_exc.OperationalError,
        # All connections of the pool are in use.
        sa_exc.TimeoutError,
    ) as error:
        raised = (
            exception.CredentialsRefused
            if logins.is_refused(error)
            else exception.CloudUnavailable
        )
        raise raised(service="Nova's database", reason=error) from error
    except (
        oslo_messaging.MessagingException,
        # oslo.messaging lets these through while it opens a connection.
        kombu_exc.KombuError,
        amqp.AMQPError,
        OSError,
    ) as error:
        raise exception.CloudUnavailable(
            service="Nova's message bus", reason=error
        ) from error


def of_session(service: str, error: Exception) -> exception.CloudUnavailable:
    """Return the error of a request that a session of keystoneauth has not
    made. Services refuse it where keystone gives no token for it."""
    if isinstance(error, ks_exc.Unauthorized):
        return exception.CredentialsRefused(service='Keystone', reason=error)
    return exception.CloudUnavailable(service=service, reason=error)


def of_answer(
    service: str, request: str, status: int, text: str
) -> exception.CloudUnavailable:
    """Return the error of an answer with a status that nobody expects."""
    return exception.CloudUnavailable(
        service=service,
        reason=f'{request} was answered with {status}: {text[:500]}',
    )
