# SPDX-License-Identifier: Apache-2.0
"""Open connections, which the workers of nova-scheduler must not share.

Nova's master asks for placement once, to see that it is there, and forks
then. Its workers inherit the connection while it is open, and two that use it
at the same time get each other's answers: a claim that placement has granted
looks refused, and its allocation stays behind.
"""

from collections.abc import Callable
from typing import Any

from nova.scheduler import manager
from nova.scheduler.client import report
import wrapt


def install() -> None:
    """Give each worker a client of placement of its own; call this once per
    process, before it forks."""
    wrapt.wrap_function_wrapper(
        manager.SchedulerManager, 'pre_start_hook', _part
    )


def _part(
    wrapped: Callable[..., None],
    scheduler: manager.SchedulerManager,
    args: Any,
    kwargs: Any,
) -> None:
    # Before any request comes in. Nova makes the next one when it wants it.
    report.PLACEMENTCLIENT = None
    wrapped(*args, **kwargs)
