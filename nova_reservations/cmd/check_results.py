# SPDX-License-Identifier: Apache-2.0
"""The results of upgrade checks: a line for each finding, each line once."""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
import functools
from typing import Any

from oslo_upgradecheck import upgradecheck

from nova_reservations.cmd import service_check
from nova_reservations.types import audited

Code = upgradecheck.Code
Result = upgradecheck.Result

MANY = 10
"""The maximum number of findings that are listed of one check."""


def of(code: Code, found: Iterable[str]) -> Result:
    """Return success if there are no findings."""
    lines = list(found)
    if not lines:
        return Result(Code.SUCCESS)
    if len(lines) > MANY:
        lines[MANY:] = [f'And {len(lines) - MANY} more']
    return Result(code, '\n'.join(lines))


def in_a_line(error: Exception) -> str:
    return ' '.join(str(error).split())


def of_audit(found: Iterable[audited.Finding]) -> Iterator[str]:
    """Yield findings of an audit, each with what mends it."""
    for finding in found:
        if finding.repair is None:
            yield finding.problem
        else:
            yield (
                f'{finding.problem}. "nova-reservations-manage audit '
                '--repair" mends it'
            )


def told_once(name: str, check: Callable[..., Result]) -> Any:
    """Make a check return as its result why it could not be made, unless an
    earlier check has said the same: many checks need the same option, or ask
    the same service.

    :param check: a method of an object with the dict ``told``, which has which
        check has said each line
    """

    @functools.wraps(check)
    def result(self: Any) -> Result:
        try:
            found = check(self)
        except service_check.UNASKED as error:
            found = Result(Code.FAILURE, in_a_line(error))
        if found.code != Code.FAILURE:
            return found
        lines = (found.details or '').splitlines()
        earlier = {self.told.setdefault(line, name) for line in lines} - {name}
        if earlier and not any(self.told[line] == name for line in lines):
            return Result(
                Code.WARNING,
                f'Not checked: see the check "{min(earlier)}".',
            )
        return found

    return result
