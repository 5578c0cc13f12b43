# SPDX-License-Identifier: Apache-2.0
"""Things that are made in Neutron or Heat for reservations, and the tags that
they bear there."""

import dataclasses

TAG = 'blazar'
"""The tag of all that is made for reservations, which clients look for."""

_OF = 'reservation:'
_IN = 'nova_reservations:'


@dataclasses.dataclass(frozen=True, slots=True)
class Mark:
    """The mark of something that was made for a reservation.

    :ivar database: the name of our database.
    """

    reservation_id: str
    database: str

    @property
    def tags(self) -> list[str]:
        """The tags that Blazar gives, and one more."""
        return [
            TAG,
            f'{_OF}{self.reservation_id}',
            f'{_IN}{self.database}',
        ]

    @property
    def description(self) -> str:
        """The tags as a description: a thing is created with its description,
        and is tagged only afterwards."""
        return ' '.join(self.tags)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """Something that a project has in Neutron or Heat, whether we have made it
    or not.

    :ivar words: its tags, and the words of its description.
    :ivar is_tagged: whether it has tags of a reservation.
    """

    id: str
    project_id: str
    words: frozenset[str] = frozenset()
    is_tagged: bool = False

    @property
    def reservation_id(self) -> str | None:
        """The reservation that it was made for; None: for none."""
        return self._after(_OF)

    @property
    def database(self) -> str | None:
        """The name of the database of that reservation; None: it is
        unknown."""
        return self._after(_IN)

    def _after(self, prefix: str) -> str | None:
        if TAG not in self.words:
            return None
        found = sorted(word for word in self.words if word.startswith(prefix))
        return found[0].removeprefix(prefix) if found else None
