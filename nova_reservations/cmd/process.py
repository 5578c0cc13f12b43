# SPDX-License-Identifier: Apache-2.0
"""The start of a command's process, and its errors, for all commands."""

import argparse
from collections.abc import Iterator
from collections.abc import Sequence
import contextlib
from importlib import metadata
import sys

from nova import config
from nova import objects
from oslo_config import cfg
from oslo_log import log
import oslo_messaging

from nova_reservations import conf as options
from nova_reservations import exception
from nova_reservations.cloud import time_limits

# Keeps messages away that an operator does not need beside the answer.
_LOG_LEVELS = (
    'alembic=WARNING',
    'nova=ERROR',
    'nova_reservations=WARNING',
    'oslo_db=ERROR',
    'oslo_policy=ERROR',
    'oslo_service=WARNING',
)


def start(conf: cfg.ConfigOpts) -> None:
    """Read the command line and nova.conf, as Nova's own commands do.

    :param conf: Nova's configuration
    :raises: cfg.Error if a file can't be read, or a value is not allowed
    :raises: oslo_messaging.MessagingException if transport_url is no URL
    :raises: SystemExit after it has printed the version, if that is asked for
    """
    _say_version(sys.argv[1:])
    time_limits.install()
    for group in ('api_database', 'database'):
        # Somebody waits for the command, and can repeat it. By default Nova
        # goes on for 100 s at each question.
        conf.set_override('max_retries', 0, group)
    options.register_opts(conf)
    config.parse_args(sys.argv)
    log.set_defaults(
        default_log_levels=[*log.get_default_log_levels(), *_LOG_LEVELS]
    )
    # Log to stderr, because a program may read stdout.
    conf.set_default('use_stderr', True)
    log.setup(conf, 'nova')
    objects.register_all()


def _say_version(words: Sequence[str]) -> None:
    """Print the version of this project and exit, if the words ask for it.

    Nova's parser, which comes after this, would answer with Nova's own.

    :raises: SystemExit
    """
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument(
        '--version',
        action='version',
        version=metadata.version('nova-reservations'),
    )
    parser.parse_known_args(words)


@contextlib.contextmanager
def reporting(conf: cfg.ConfigOpts, exit_code: int) -> Iterator[None]:
    """Exit with a line on stderr for errors that an operator has to fix."""
    try:
        yield
    except exception.DatabaseUnavailable as error:
        _fail(exit_code, f'{error}. {where_connection(conf)}')
    except (
        cfg.Error,
        exception.ReservationsError,
        oslo_messaging.MessagingException,
    ) as error:
        _fail(exit_code, str(error))
    except KeyboardInterrupt:
        _fail(exit_code, 'Interrupted; all commands may be repeated.')


def where_connection(conf: cfg.ConfigOpts) -> str:
    """Return a hint where the connection to the database is configured."""
    files = conf.config_file
    return (
        'See [reservations] connection, or if there is none [api_database] '
        f'connection, in {", ".join(files) if files else "nova.conf"}'
        + ('.' if files else ': none was found, name it by --config-file.')
    )


def _fail(exit_code: int, message: str) -> None:
    print(message, file=sys.stderr)
    sys.exit(exit_code)
