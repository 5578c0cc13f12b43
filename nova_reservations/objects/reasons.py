# SPDX-License-Identifier: Apache-2.0
"""Reasons for which a lease waits, or has failed."""

from collections.abc import Iterable
from collections.abc import Sequence
import dataclasses
import re
from typing import Self

from nova_reservations import exception

LONGEST = 2000
"""The most characters, of at most four bytes each. Databases keep 65,535
bytes, but the owner of a lease of 1,300 hosts would not read them all."""

_ROOM = len(' ... and 1,000,000 more')

_BETWEEN = re.compile(r'[,;] ')
"""What is between two items of a list."""


def plural(number: int, one: str, several: str) -> str:
    """Return the number with the words for one, or for several."""
    return f'{number} {one if number == 1 else several}'


def few(items: Sequence[str], most: int = 5) -> str:
    """Return the first of the items, with the count of those left out."""
    named = ', '.join(items[:most])
    more = len(items) - most
    return f'{named} and {more} more' if more > 0 else named


def fit(reason: str) -> str:
    """Return the reason, shortened to what the database can store: cut between
    two items of a list, with the count of those left out, or between two
    words."""
    if len(reason) <= LONGEST:
        return reason
    kept = reason[: LONGEST - _ROOM]
    ends = [found.start() for found in _BETWEEN.finditer(kept)]
    # Not where the next item is so long that half of the text would be lost.
    if ends and ends[-1] > LONGEST // 2:
        kept = kept[: ends[-1]]
        left_out = len(_BETWEEN.findall(reason[len(kept) :]))
        return f'{kept} ... and {left_out:,} more'
    return f'{kept.rpartition(" ")[0] or kept} ...'


@dataclasses.dataclass(frozen=True, slots=True)
class Reason:
    """The reason why a lease waits, or why it failed; as a text it is the
    whole.

    Decision 0025: doc/source/decisions/0025-nobody-else-is-named

    :ivar told: what its owner reads: it names no server, project or host of
        others.
    :ivar whole: what administrators and the log are told.
    """

    told: str
    whole: str

    def __str__(self) -> str:
        return self.whole

    @property
    def detail(self) -> str | None:
        """The text for administrators, where it differs from the owner's."""
        return None if self.whole == self.told else self.whole

    @classmethod
    def plain(cls, text: str) -> Self:
        """Return a reason that its owner may read as it is."""
        return cls(text, text)

    @classmethod
    def of(cls, error: exception.ReservationsError) -> Self:
        return cls(error.public, str(error))

    def fitted(self) -> Self:
        """Return it as the database keeps it."""
        return dataclasses.replace(
            self, told=fit(self.told), whole=fit(self.whole)
        )

    def after(self, text: str) -> Self:
        """Return one that says this after a text that anybody may read."""
        return dataclasses.replace(
            self, told=text + self.told, whole=text + self.whole
        )

    @classmethod
    def join(cls, several: Iterable[Self], most: int | None = None) -> Self:
        """Return the reasons as one, which says nothing twice.

        :param most: how many of them it tells of
        """
        listed = list(several)
        return cls(
            _listed((reason.told for reason in listed), most),
            _listed((reason.whole for reason in listed), most),
        )


def _listed(texts: Iterable[str], most: int | None) -> str:
    return '; '.join(list(dict.fromkeys(texts))[:most])
