# SPDX-License-Identifier: Apache-2.0
"""A guarded nova-conductor says so to whoever asks it.

It is asked by the upgrade check, on the queue on which Nova's own messages
reach this very nova-conductor.
"""

from collections.abc import Callable
from typing import Any

from nova import manager
import oslo_messaging
import wrapt

from nova_reservations.cloud import conductors


class Endpoint:
    """The method that the upgrade check calls."""

    target = oslo_messaging.Target(
        namespace=conductors.NAMESPACE, version=conductors.VERSION
    )

    def is_guarded(self, context: Any) -> bool:
        return True


def install() -> None:
    """Add the endpoint to those of nova-conductor; once per process."""
    wrapt.wrap_function_wrapper(manager, 'Manager.__init__', _made)


def _made(
    wrapped: Callable[..., None], made: Any, args: Any, kwargs: Any
) -> None:
    wrapped(*args, **kwargs)
    if made.service_name == conductors.TOPIC:
        made.additional_endpoints.append(Endpoint())
