# SPDX-License-Identifier: Apache-2.0
"""The start of a command's process, and its errors, for all commands."""

from collections.abc import Iterator
import contextlib
import sys

from nova import config
from nova import objects
from oslo_config import cfg
from oslo_log import log
import oslo_messaging

from nova_reservations import conf as options
from nova_reservations import exception

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
    """
    options.register_opts(conf)
    config.parse_args(sys.argv)
    log.set_defaults(
        default_log_levels=[*log.get_default_log_levels(), *_LOG_LEVELS]
    )
    # Log to stderr, because a program may read stdout.
    conf.set_default('use_stderr', True)
    log.setup(conf, 'nova')
    objects.register_all()


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
