# SPDX-License-Identifier: Apache-2.0
"""The base of all commands: an example, a zone for times, and errors in
words."""

import argparse
from collections.abc import Collection
from collections.abc import Mapping
from typing import Any
from typing import ClassVar

from osc_lib.command import command

from osc_nova_reservations import dates
from osc_nova_reservations import errors


class Told(command.Command):
    """A command whose errors are told in words.

    :cvar example: a command line that works.
    """

    example: ClassVar[str]

    # The commands are not said to be of another plugin, as cliff does it.
    app_dist_name = 'osc-nova-reservations'

    def get_description(self) -> str:
        """Return the description in sentences, since argparse joins lines."""
        paragraphs = super().get_description().split('\n\n')
        sentences = (' '.join(each.split()) for each in paragraphs)
        return ' '.join(f'{each.rstrip(".")}.' for each in sentences if each)

    def get_epilog(self) -> str:
        return f'Example: {self.example}\n\n{super().get_epilog()}'

    def run(self, parsed_args: argparse.Namespace) -> int:
        with errors.told(self.told_by(parsed_args)):
            return int(super().run(parsed_args) or 0)

    def told_by(self, parsed_args: argparse.Namespace) -> dates.Clock | None:
        """Return the clock by which errors tell times, if there is one."""
        return None


class Timed(Told):
    """A command that takes or shows times."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            '--timezone',
            metavar='<timezone>',
            help='Zone of all times that are given without an offset, or '
            'shown: Europe/Rome, UTC (default: that of this machine)',
        )
        return parser

    def told_by(self, parsed_args: argparse.Namespace) -> dates.Clock | None:
        return self.clock(parsed_args)

    def clock(self, parsed_args: argparse.Namespace) -> dates.Clock:
        """:raises: CommandError"""
        name = parsed_args.timezone
        return dates.Clock(
            dates.zone(name) if name else dates.local(),
            dates.now(),
        )


def columns(
    known: Mapping[str, str], short: Collection[str], args: argparse.Namespace
) -> dict[str, str]:
    """Return key -> title of the columns to show.

    A table without --long is for the eyes, and has the short ones. Other
    formats have all columns, so that scripts find them.
    """
    is_short = not (
        getattr(args, 'long', False)
        or args.columns
        or args.formatter != 'table'
    )
    return {
        key: title
        for key, title in known.items()
        if not is_short or key in short
    }


def add_long(parser: argparse.ArgumentParser) -> None:
    parser.add_argument('--long', action='store_true', help='Show all columns')


def say_zone(
    caller: Any, clock: dates.Clock, args: argparse.Namespace
) -> None:
    """Say once in which zone the times of a table are."""
    if args.formatter == 'table':
        caller.app.stderr.write(f'Times are in {clock.zone}\n')
