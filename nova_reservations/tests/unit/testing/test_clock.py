# SPDX-License-Identifier: Apache-2.0
"""Leases start and end by the database's clock, so that a machine with a wrong
clock does no harm.

Code reads the clock of its own machine in one place only, which compares it
with the database's. nova-compute is exempt: it has no leases and no database,
and puts its own time on measurements.
"""

import ast
import pathlib

import nova_reservations

PACKAGE = pathlib.Path(nova_reservations.__file__).parent
CLOCKS = {'time', 'utcnow', 'utcnow_ts', 'today', 'localtime', 'gmtime'}


def asks_its_own_clock(call):
    """Return whether a call is datetime.now(), time.time() or the like."""
    if not isinstance(call.func, ast.Attribute):
        return False
    whose = ast.unparse(call.func.value)
    return (
        call.func.attr in CLOCKS
        and whose in ('time', 'timeutils', 'datetime.datetime')
    ) or (
        call.func.attr == 'now' and whose in ('datetime.datetime', 'sa.func')
    )


def test_a_single_function_asks_the_clock_of_its_machine():
    asked = [
        str(path.relative_to(PACKAGE))
        for path in sorted(PACKAGE.rglob('*.py'))
        if path.relative_to(PACKAGE).parts[0]
        not in ('compute', 'sandbox', 'tests')
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and asks_its_own_clock(node)
    ]
    assert asked == ['bootstrap.py']
