# SPDX-License-Identifier: Apache-2.0
"""The event ``before_end_lease``: when it is due, and the actions that a
reservation may ask for."""

from oslo_config import cfg
from oslo_config import types

OPTS = [
    cfg.IntOpt(
        'minutes_before_end_lease',
        min=0,
        default=60,
        help="""
Minutes before its end at which a lease's ``before_end_lease`` event is due,
when the request does not name a ``before_end_date``.

Possible values:

* 0: no such event unless asked for
* Any number of minutes; for a lease that is shorter, its start
""",
    ),
    cfg.ListOpt(
        'before_end_actions',
        default=['notify', 'snapshot'],
        help="""
What reservations may have done at ``before_end_lease``, by ``before_end``.

A request that asks for another is refused with 400.

Possible values:

* ``notify``: no more than the notification, which is emitted in any case;
  always offered
* ``snapshot``: an image of each server of the reservation, for its project
* ``webhook``, ``email``: tell a service or people of it; see the options of
  these names
* Names of installed entry points in ``nova_reservations.event.actions``. A
  name that is not installed stops the process with one line that says so

Related options:

* ``[reservations] default_before_end``
* ``[service_user]``: ``snapshot`` is refused where it is not configured
""",
    ),
    cfg.StrOpt(
        'default_before_end',
        default='notify',
        help="""
What is done at ``before_end_lease`` for reservations whose ``before_end`` is
``default``, as it is where the request does not say. It also tells of leases
of what no servers use, which can choose nothing.

Possible values:

* As for ``[reservations] before_end_actions``; it need not be among those

Related options:

* ``[reservations] before_end_actions``
""",
    ),
    cfg.ListOpt(
        'webhook_addresses',
        default=[],
        # They may have credentials in them.
        secret=True,
        item_type=types.URI(schemes=['https', 'http']),
        help="""
Where ``before_end = webhook`` posts to that a lease ends soon: to each of
these, and to no other address.

Possible values:

* URLs, ``https`` ones unless the way there is safe in another way: the
  message names a project, its lease and its servers

Related options:

* ``[reservations] before_end_actions`` must have ``webhook``
* ``[reservations] webhook_secret``
""",
    ),
    cfg.StrOpt(
        'webhook_secret',
        secret=True,
        help="""
The key by which messages to ``webhook_addresses`` are signed.

Possible values:

* Any text that those who receive them know too; unset: none is sent
""",
    ),
    cfg.StrOpt(
        'email_server',
        help="""
The mail server by which ``before_end = email`` tells that a lease ends soon.

Possible values:

* A host name or an address; unset: none is sent

Related options:

* ``[reservations] before_end_actions`` must have ``email``
* ``[reservations] email_from`` and ``email_to`` must be set
""",
    ),
    cfg.PortOpt(
        'email_port',
        default=25,
        help="""
The port of ``email_server``.

Possible values:

* Any port
""",
    ),
    cfg.BoolOpt(
        'email_starttls',
        default=True,
        help="""
Whether the connection to ``email_server`` is encrypted, by STARTTLS; the
server's certificate must be valid.

Possible values:

* True or False
""",
    ),
    cfg.StrOpt(
        'email_username',
        help="""
The account on ``email_server``.

Possible values:

* A name; unset: no account is needed

Related options:

* ``[reservations] email_password``
""",
    ),
    cfg.StrOpt(
        'email_password',
        secret=True,
        help="""
The password of ``email_username``.

Possible values:

* Any text
""",
    ),
    cfg.StrOpt(
        'email_from',
        help="""
The sender of e-mails about leases.

Possible values:

* An address
""",
    ),
    cfg.StrOpt(
        'email_to',
        help="""
Who receives e-mails about a lease. Keystone is not asked for addresses.

Possible values:

* An address; ``{user_id}`` and ``{project_id}`` in it are those of the lease
""",
    ),
]
