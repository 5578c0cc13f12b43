# SPDX-License-Identifier: Apache-2.0
"""Apply each mutant to a copy of the tree, and run the tests named for it.

Fails if one survives, or has no place in the code any more. Databases are of
SQLite, but for a storm, which may run in place of the tests.
"""

import argparse
from collections.abc import Callable
import functools
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from nova_reservations.tests import mutants
from nova_reservations.tests import storm

# What tests of other kinds of database would be skipped for takes its time.
SQLITE = ('-k', 'not mysql and not postgresql', '-p', 'no:randomly')
FAILED = 1
"""The status with which pytest ends if a test has failed, and a storm if it
has found something."""
SHRINK = 10
"""Seconds for which a storm shortens what it has found."""


def main() -> int:
    parser = argparse.ArgumentParser(prog='tools/mutants', description=__doc__)
    parser.add_argument('--list', action='store_true', help='only name them')
    parser.add_argument(
        '--storm',
        type=int,
        metavar='SECONDS',
        help='let tools/storm find it in this time, in place of its tests',
    )
    parser.add_argument(
        '--database',
        choices=('sqlite', 'mysql', 'postgresql'),
        default='sqlite',
        help='of the storm',
    )
    parser.add_argument(
        'words', nargs='*', help='only mutants whose names have all of these'
    )
    options = parser.parse_args()
    chosen = [
        mutant
        for mutant in mutants.all_of_them()
        if all(word in mutant.name for word in options.words)
    ]
    if not chosen:
        parser.error(f'no mutants: {" ".join(options.words)}')
    if options.list:
        print(*(mutant.name for mutant in chosen), sep='\n')
        return 0
    run = _run
    if options.storm is None:
        _prepare()
    else:
        run = functools.partial(_blow, options.storm, options.database)
    survivors = []
    with tempfile.TemporaryDirectory(prefix='mutants-') as directory:
        root = pathlib.Path(directory)
        _copy(root)
        for mutant in chosen:
            verdict = _verdict(mutant, root, run)
            print(f'{verdict}: {mutant.name}', flush=True)
            if verdict != 'killed':
                survivors.append(mutant)
    print(f'{len(chosen) - len(survivors)} of {len(chosen)} killed')
    return 1 if survivors else 0


def _prepare() -> None:
    """Import what all tests do, so that each fork has it already."""
    os.environ['OS_NOVA_DISABLE_EVENTLET_PATCHING'] = 'true'
    from nova import monkey_patch

    if hasattr(monkey_patch, 'patch'):
        monkey_patch.patch()
    import hypothesis  # noqa: F401
    import nova.conf
    import nova.objects
    import nova.scheduler.utils  # noqa: F401
    import schemathesis.pytest.plugin  # noqa: F401
    import sqlalchemy.orm  # noqa: F401


def _copy(root: pathlib.Path) -> None:
    """Copy what git knows, and what it would."""
    names = subprocess.run(
        ['git', 'ls-files', '-co', '--exclude-standard', '-z'],  # noqa: S607
        cwd=mutants.ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.split('\0')
    for name in filter(None, names):
        source = mutants.ROOT / name
        if source.is_file():
            target = root / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)


def _verdict(
    mutant: mutants.Mutant, root: pathlib.Path, run: Callable[..., int]
) -> str:
    """:param run: returns FAILED if the mutant is found in the tree"""
    try:
        file = mutant.place(root)
    except mutants.DoesNotApply as error:
        return f'does not apply, {error}'
    text = file.read_text()
    file.write_text(text.replace(mutant.old, mutant.new))
    try:
        status = run(root, mutant.tests)
    finally:
        file.write_text(text)
    if status == FAILED:
        return 'killed'
    if status in (0, storm.EMPTY):
        return 'SURVIVED'
    return f'the process ended with {status}'


def _blow(seconds: int, database: str, root: pathlib.Path, _: object) -> int:
    """Let a storm blow in a process of its own; return its status."""
    command = [sys.executable, '-B', '-m', f'{mutants.PACKAGE}.tests.storm']
    limits = ['--seconds', str(seconds), '--stories', '1']
    limits += ['--shrink-seconds', str(SHRINK)]
    done = subprocess.run(
        [*command, *limits, '--database', database],
        cwd=root,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    # The story is for whoever wants to know whether it shows the mutant.
    print(done.stdout)
    return done.returncode


def _run(root: pathlib.Path, tests: tuple[str, ...]) -> int:
    """Run tests of the copy in a process of their own; return its status."""
    child = os.fork()
    if child:
        _, status = os.waitpid(child, 0)
        return os.waitstatus_to_exitcode(status)
    os.chdir(root)
    with open(os.devnull, 'w') as nothing:
        for stream in (1, 2):
            os.dup2(nothing.fileno(), stream)
    sys.path.insert(0, str(root))
    # Bytecode of the text before would be taken for that of the text after.
    sys.dont_write_bytecode = True
    for name in [name for name in sys.modules if _is_ours(name)]:
        del sys.modules[name]
    import pytest

    paths = [str(mutants.TESTS / test) for test in tests]
    os._exit(pytest.main(['-x', '-q', *SQLITE, *paths]))


def _is_ours(name: str) -> bool:
    return name.partition('.')[0] == mutants.PACKAGE


if __name__ == '__main__':
    sys.exit(main())
