# SPDX-License-Identifier: Apache-2.0
"""A virtual host of RabbitMQ, for as long as the sandbox lasts.

Queues have the same names in every Nova. So two Novas in one virtual host
would get each other's messages. A queue that an earlier Nova has declared with
other options keeps the next one from declaring it.
"""

from collections.abc import Iterator
import contextlib
import ipaddress
import shutil
import subprocess

import amqp
import sqlalchemy.engine

from sandbox import person

#: An exchange and a queue that every Nova has.
_EXCHANGE = 'nova'
_QUEUE = 'conductor'

_HOW = """\
make a virtual host for the sandbox, and name it in --transport-url:
  rabbitmqctl add_vhost sandbox
  rabbitmqctl set_permissions -p sandbox {user} '.*' '.*' '.*'
  --transport-url {url}"""


@contextlib.contextmanager
def lent(transport_url: str, name: str, alone: bool = True) -> Iterator[str]:
    """Yield the URL of a virtual host that nobody else uses.

    It is created, and deleted in the end, if the broker is on this machine and
    rabbitmqctl works. Otherwise it is the one of the URL, in which there must
    be nothing of another Nova.

    :param transport_url: empty for a Nova that is a single process
    :param alone: whether the virtual host of the URL may be used; not if
        several are needed
    :raises Unexpected: if it can't be used, with what to do
    """
    if not transport_url:
        yield transport_url
        return
    url = sqlalchemy.engine.make_url(transport_url)
    made = _is_here(url) and _make(name, url.username or 'guest')
    if made:
        url = url.set(database=name)
    elif not alone:
        raise person.Unexpected(
            'a virtual host for each cell',
            f'rabbitmqctl makes none at {url.render_as_string()}',
        )
    try:
        _look(url)
        yield url.render_as_string(hide_password=False)
    finally:
        if made:
            _control('delete_vhost', name)


def _is_here(url: sqlalchemy.engine.URL) -> bool:
    try:
        return ipaddress.ip_address(url.host or '').is_loopback
    except ValueError:
        return url.host == 'localhost'


def _make(name: str, user: str) -> bool:
    return _control('add_vhost', name) and _control(
        'set_permissions', '-p', name, user, '.*', '.*', '.*'
    )


def _control(*command: str) -> bool:
    """Return whether rabbitmqctl has done it."""
    program = shutil.which('rabbitmqctl')
    if program is None:
        return False
    done = subprocess.run(
        [program, '--quiet', *command], capture_output=True, check=False
    )
    return done.returncode == 0


def _look(url: sqlalchemy.engine.URL) -> None:
    """Check that Nova can use it, and that no other Nova does or did."""
    try:
        with amqp.Connection(
            f'{url.host or "127.0.0.1"}:{url.port or 5672}',
            userid=url.username or 'guest',
            password=url.password or 'guest',
            virtual_host=url.database or '/',
            connect_timeout=10,
        ) as connection:
            found = _found(connection)
    except (OSError, amqp.exceptions.AMQPError) as error:
        raise person.Unexpected(
            f'RabbitMQ at {url.render_as_string()}', error
        ) from error
    if found:
        how = _HOW.format(
            user=url.username or 'guest',
            url=url.set(database='sandbox').render_as_string(
                hide_password=False
            ),
        )
        raise person.Unexpected(
            f'no other Nova at {url.render_as_string()}', f'{found}; {how}'
        )


def _found(connection: amqp.Connection) -> str | None:
    """Return what another Nova has there, or None.

    Nothing is created: only existing objects are declared. Each declaration
    uses a new channel, because a refusal closes the channel.
    """
    try:
        connection.channel().queue_declare(_QUEUE, passive=True)
    except amqp.exceptions.NotFound:
        pass
    else:
        return f'a queue "{_QUEUE}"'
    try:
        connection.channel().exchange_declare(_EXCHANGE, 'topic', passive=True)
    except amqp.exceptions.NotFound:
        return None
    try:
        # The options that [oslo_messaging_rabbit] amqp_auto_delete results in.
        connection.channel().exchange_declare(
            _EXCHANGE, 'topic', durable=False, auto_delete=True
        )
    except amqp.exceptions.PreconditionFailed:
        return f'an exchange "{_EXCHANGE}" with other options'
    return None
