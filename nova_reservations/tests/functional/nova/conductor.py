# SPDX-License-Identifier: Apache-2.0
"""A nova-conductor beside nova-scheduler in one process, each with its own
hooks.

Nova's fixtures run all services in one process. Our wrapper of a function for
nova-scheduler would therefore guard nova-conductor too.
"""

import types

import fixtures
from nova.scheduler import utils

from nova_reservations.conductor import guard

_USERS = (
    'nova.conductor.manager',
    'nova.conductor.tasks.live_migrate',
    'nova.conductor.tasks.migrate',
)


class Conductor(fixtures.Fixture):
    """:ivar guarded: whether our guard checks its claims."""

    def __init__(self, guarded: bool) -> None:
        self.guarded = guarded

    def _setUp(self) -> None:
        own = types.ModuleType(utils.__name__)
        own.__dict__.update(vars(utils))
        own.claim_resources = _unwrapped(utils.claim_resources)
        if self.guarded:
            guard.install(own)
        for user in _USERS:
            self.useFixture(
                fixtures.MonkeyPatch(f'{user}.scheduler_utils', own)
            )


def _unwrapped(function):
    while hasattr(function, '__wrapped__'):
        function = function.__wrapped__
    return function
