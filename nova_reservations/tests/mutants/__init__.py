# SPDX-License-Identifier: Apache-2.0
"""Mutants: small faults in the code that guards bookings, each with tests
that must find it.

The tables beside this file name them. ``old`` stands in the code once,
wherever that is: a mutant moves with its code, and one whose text is gone is
a failure too.
"""

import dataclasses
import pathlib
import tomllib

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parents[2]
PACKAGE = 'nova_reservations'
TESTS = pathlib.Path(PACKAGE, 'tests')


class DoesNotApply(Exception):
    pass


@dataclasses.dataclass(frozen=True)
class Mutant:
    """:ivar tests: files, or ids, below ``tests/``; one of them must fail."""

    name: str
    old: str
    new: str
    tests: tuple[str, ...]

    def place(self, root: pathlib.Path) -> pathlib.Path:
        """Return the file that has the text, once.

        :raises: DoesNotApply if there is not exactly one place
        """
        counts = {
            file: file.read_text().count(self.old)
            for file in sorted((root / PACKAGE).rglob('*.py'))
            if not file.is_relative_to(root / TESTS)
        }
        found = [file for file, count in counts.items() if count]
        if sum(counts.values()) != 1:
            places = ', '.join(str(file.relative_to(root)) for file in found)
            raise DoesNotApply(
                f'{sum(counts.values())} places have its text: {places}'
            )
        return found[0]


def all_of_them() -> list[Mutant]:
    return [
        Mutant(**{**row, 'tests': tuple(row['tests'])})
        for file in sorted(HERE.glob('*.toml'))
        for row in tomllib.loads(file.read_text())['mutant']
    ]
