# SPDX-License-Identifier: Apache-2.0
"""Open connections, which the workers of nova-scheduler must not share.

Nova's parent process queries placement once, to check that it is there, and
then forks. The workers inherit the open connection. Two workers that use it at
the same time get each other's answers: a claim that placement has granted
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
    # No request has come in yet. Nova makes a new client when it needs one.
    report.PLACEMENTCLIENT = None
    wrapped(*args, **kwargs)
