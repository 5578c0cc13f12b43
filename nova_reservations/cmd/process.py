# SPDX-License-Identifier: Apache-2.0
"""What all commands have in common: their process, and how they fail."""

from collections.abc import Iterator
import contextlib
import sys

from nova import config
from nova import objects
import nova.conf
from oslo_config import cfg
from oslo_log import log
import oslo_messaging

from nova_reservations import conf
from nova_reservations import exception

# What an operator does not want to read beside the answer.
_LOG_LEVELS = (
    'alembic=WARNING',
    'nova=ERROR',
    'nova_reservations=WARNING',
    'oslo_db=ERROR',
    'oslo_policy=ERROR',
)


def start() -> None:
    """Read the command line and nova.conf, as Nova's own commands do.

    :raises: cfg.Error if a file can't be read, or a value is not allowed
    :raises: oslo_messaging.MessagingException if transport_url is none
    """
    conf.register_opts(nova.conf.CONF)
    config.parse_args(sys.argv)
    log.set_defaults(
        default_log_levels=[*log.get_default_log_levels(), *_LOG_LEVELS]
    )
    log.setup(nova.conf.CONF, 'nova')
    objects.register_all()


@contextlib.contextmanager
def reporting(exit_code: int) -> Iterator[None]:
    """Exit with a line on stderr where an operator has to do something."""
    try:
        yield
    except exception.DatabaseUnavailable as error:
        _fail(
            exit_code,
            f'{error}. See [reservations] connection, or if there is none '
            f'[api_database] connection, in {_files()}.',
        )
    except (
        cfg.Error,
        exception.ReservationsError,
        oslo_messaging.MessagingException,
    ) as error:
        _fail(exit_code, str(error))
    except KeyboardInterrupt:
        _fail(exit_code, 'Interrupted; all commands may be repeated.')


def _fail(exit_code: int, message: str) -> None:
    print(message, file=sys.stderr)
    sys.exit(exit_code)


def _files() -> str:
    """Name the configuration files that were read."""
    files = nova.conf.CONF.config_file or []
    return ', '.join(files) or 'nova.conf, of which none was found'
