# SPDX-License-Identifier: Apache-2.0
"""The places that a storm reaches: a storm that never gets somewhere proves
nothing."""

from collections import Counter
from collections.abc import Iterator
import enum
import re

import sqlalchemy as sa

from nova_reservations.api import routes
from nova_reservations.db import api
from nova_reservations.db import models
from nova_reservations.objects import states

_STATES: dict[str, tuple[type[enum.StrEnum], type[models.Base]]] = {
    'lease': (states.Lease, models.Lease),
    'reservation': (states.Reservation, models.Reservation),
    'event': (states.Event, models.Event),
}

_PATHS = {
    re.compile(re.sub('{.*?}', '[^/]+', path)): path for path in routes.ROUTES
}


class Reached:
    """:ivar routes: route -> how often it was answered by what was asked for.

    :ivar statuses: status of an answer -> how many had it.
    :ivar states: state -> after how many steps something was in it.
    """

    def __init__(self) -> None:
        self.routes = Counter(
            {
                f'{method} {path}': 0
                for path, actions in routes.ROUTES.items()
                for method in actions
            }
        )
        self.states = Counter(
            {
                f'{noun} {state}': 0
                for noun, (known, _) in _STATES.items()
                for state in known
            }
        )
        self.statuses: Counter[int] = Counter()
        self.steps: Counter[str] = Counter()

    def request(self, method: str, path: str, status: int) -> None:
        self.statuses[status] += 1
        if status <= 300:  # the versions are answered by 300
            self.routes[f'{method} {_route(path)}'] += 1

    def look(self, database: api.Database) -> None:
        """Note the states in which leases and their parts are."""
        with database.reader() as session:
            for noun, (_, model) in _STATES.items():
                column = model.__table__.c.status
                for status in session.scalars(sa.select(column).distinct()):
                    self.states[f'{noun} {status}'] += 1

    def lacks(self) -> Iterator[str]:
        """Yield the routes and states that were not reached."""
        for known in self.routes, self.states:
            yield from (name for name, count in known.items() if not count)

    def told(self) -> str:
        reached = [sum(map(bool, known.values())) for known in self._known()]
        return (
            f'{reached[0]} of {len(self.routes)} routes and '
            f'{reached[1]} of {len(self.states)} states reached; answers: '
            + ', '.join(
                f'{count} x {status}'
                for status, count in sorted(self.statuses.items())
            )
        )

    def _known(self) -> tuple[Counter[str], Counter[str]]:
        return self.routes, self.states


def _route(path: str) -> str:
    """Return the template of a path below /v1, as the first that matches."""
    plain = path.partition('?')[0]
    whole = plain if plain in routes.ROUTES else f'/v1{plain}'
    return next(
        template
        for pattern, template in _PATHS.items()
        if pattern.fullmatch(whole)
    )
