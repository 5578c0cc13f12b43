# SPDX-License-Identifier: Apache-2.0
"""The report of measurements, as a text table, as JSON, and as a document."""

from collections.abc import Sequence
import dataclasses
import datetime
import json
import os
import pathlib
import platform
from typing import Any

import prettytable


@dataclasses.dataclass(frozen=True)
class Figure:
    """One number, with the values to compare it with.

    :ivar floor: the value of the floor, in the same unit; None: there is none.
    :ivar limit: the maximum of the number; None: there is none.
    :ivar at_least: whether limit is the minimum instead.
    """

    what: str
    value: float
    unit: str
    floor: float | None = None
    limit: float | None = None
    at_least: bool = False

    @property
    def reached(self) -> bool | None:
        if self.limit is None:
            return None
        if self.at_least:
            return self.value >= self.limit
        return self.value <= self.limit


@dataclasses.dataclass(frozen=True)
class Row:
    """:ivar details: title -> text, such as profiles.
    :ivar failure: why there are no figures.
    """

    figures: Sequence[Figure]
    details: dict[str, str] = dataclasses.field(default_factory=dict)
    failure: str | None = None


@dataclasses.dataclass(frozen=True)
class Run:
    """A row, and when and how it was measured.

    :ivar load: the load of the machine in the minute before.
    """

    row: Row
    quick: bool
    date: datetime.datetime
    load: float


@dataclasses.dataclass(frozen=True)
class Report:
    """:ivar runs: name of a row -> its run."""

    runs: dict[str, Run]

    @property
    def missed(self) -> list[str]:
        return [
            f'{name}: {run.row.failure}'
            for name, run in self.runs.items()
            if run.row.failure is not None
        ] + [
            figure.what
            for run in self.runs.values()
            for figure in run.row.figures
            if figure.reached is False
        ]

    def table(self) -> str:
        table = prettytable.PrettyTable(_HEADINGS, align='l')
        table.add_rows(self._cells())
        return str(table.get_string())

    def json(self) -> str:
        shown: dict[str, Any] = dataclasses.asdict(self)
        for name, run in self.runs.items():
            for each, figure in zip(
                shown['runs'][name]['row']['figures'],
                run.row.figures,
                strict=True,
            ):
                each['reached'] = figure.reached
        return json.dumps(
            {'machine': machine(), **shown}, default=str, indent=2
        )

    def rst(self) -> str:
        """Return the generated part of the document on performance."""
        lines = [
            f'On {machine()}.',
            '',
            '.. list-table::',
            '   :header-rows: 1',
            '',
            '   * - row',
            '     - run',
            '     - load of the machine before it',
        ]
        for name, run in self.runs.items():
            how = 'quick' if run.quick else 'full'
            failed = f'; FAILED: {run.row.failure}' if run.row.failure else ''
            lines += [
                f'   * - {name}',
                f'     - {how}, {run.date:%Y-%m-%d %H:%M} UTC{failed}',
                f'     - {run.load:.1f}',
            ]
        lines += [
            '',
            '.. list-table::',
            '   :header-rows: 1',
            '',
        ]
        for cells in (_HEADINGS, *self._cells()):
            first, *others = cells
            lines.append(f'   * - {first}')
            lines += [f'     - {cell}'.rstrip() for cell in others]
        for run in self.runs.values():
            for title, text in run.row.details.items():
                lines += [
                    '',
                    title,
                    '~' * len(title),
                    '',
                    '.. code-block:: text',
                    '',
                ]
                lines += [f'   {line}'.rstrip() for line in text.splitlines()]
        return '\n'.join(lines)

    def _cells(self) -> list[list[str]]:
        return [
            [
                figure.what,
                _number(figure.value, figure.unit),
                _number(figure.floor, figure.unit),
                _limit(figure),
                {None: '', True: 'yes', False: 'NO'}[figure.reached],
            ]
            for run in self.runs.values()
            for figure in run.row.figures
        ]


def read(text: str) -> Report:
    """Read a report that was written as JSON."""
    return Report(
        {
            name: Run(
                Row(
                    [_figure(each) for each in run['row']['figures']],
                    run['row']['details'],
                    run['row']['failure'],
                ),
                run['quick'],
                datetime.datetime.fromisoformat(run['date']),
                run['load'],
            )
            for name, run in json.loads(text)['runs'].items()
        }
    )


def _figure(shown: dict[str, Any]) -> Figure:
    return Figure(
        **{
            field.name: shown[field.name]
            for field in dataclasses.fields(Figure)
        }
    )


_HEADINGS = ['what', 'measured', 'floor', 'must reach', 'reached']


def _number(value: float | None, unit: str) -> str:
    return '' if value is None else f'{value:.3g} {unit}'.rstrip()


def _limit(figure: Figure) -> str:
    if figure.limit is None:
        return ''
    bound = 'at least' if figure.at_least else 'at most'
    return f'{bound} {_number(figure.limit, figure.unit)}'


def machine() -> str:
    """Return a description of the machine, on which the figures depend."""
    model = platform.machine()
    for line in pathlib.Path('/proc/cpuinfo').read_text().splitlines():
        if line.startswith('model name'):
            model = line.partition(':')[2].strip()
            break
    pages = os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE')
    return (
        f'{os.cpu_count()} x {model}, {pages / 2**30:.0f} GiB, '
        f'{platform.system()} {platform.release().split("-")[0]}, '
        f'Python {platform.python_version()}'
    )


#: Everything below this mark is generated by a run.
_MARK = '.. tools/bench --rst writes what follows.\n'


def paste(report: Report, document: pathlib.Path) -> None:
    """Replace the report in the document."""
    kept, mark, _ = document.read_text().partition(_MARK)
    if not mark:
        raise ValueError(f'{document} has no line {_MARK!r}')
    document.write_text(f'{kept}{mark}\n{report.rst()}\n')
