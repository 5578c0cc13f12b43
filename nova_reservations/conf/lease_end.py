# SPDX-License-Identifier: Apache-2.0
"""The end of leases: what becomes of their servers, and in what time."""

from oslo_config import cfg
from oslo_config import types

OPTS = [
    cfg.ListOpt(
        'allowed_end_actions',
        default=['delete', 'shelve', 'migrate'],
        item_type=types.String(choices=['delete', 'shelve', 'migrate']),
        help="""
What reservations may have done to their servers at the end of the lease, by
``end_action``.

A request that asks for another is refused with 400. One that does not ask
gets ``delete``, or the first of these where ``delete`` is not among them.

Possible values:

* ``delete``: the servers are deleted
* ``shelve``: they are shelved and offloaded, so that their data is kept
* ``migrate``: they are moved to hosts outside of the pool, live if they run;
  what finds no place there is shelved

Related options:

* ``[service_user]``: all but ``delete`` is refused where it is not
  configured, for images are made by it
""",
    ),
    cfg.StrOpt(
        'kept_volume_type',
        help="""
The volume type that volumes get at the end of a lease which keeps them:
``end_action`` ``keep`` of ``virtual:volume`` and ``physical:storage``.

Cinder moves a volume to where its volume type leads, so that the pool of
leases is free for the next one, and the volume counts against the project's
quota of that type. It needs room there, and a backend, or two, between which
Cinder can move volumes.

Possible values:

* Not set: ``keep`` is refused with 400
* The name of a public volume type, which leads to no pool of leases
""",
    ),
    cfg.ListOpt(
        'instance_on_end',
        default=['delete'],
        item_type=types.String(choices=['create_image', 'suspend', 'delete']),
        help="""
What becomes of a server that carries its own lease at the end of that, unless
the lease says so itself, by ``on_end``.

Whatever the order here is, it is done in the order below, each when what is
before it is over.

Possible values:

* ``create_image``: an image is made of it, which belongs to its project; of a
  server whose disk is a volume, the volume is kept
* ``suspend``: it is suspended
* ``delete``: it is deleted

Related options:

* ``[service_user]``: ``create_image`` is refused where it is not configured
""",
    ),
    cfg.IntOpt(
        'max_end_grace',
        min=0,
        max=1440,
        default=60,
        help="""
The most minutes that a reservation may give its servers to shut down, by
``end_grace``, before its end action is taken.

The hosts are held for so much longer than the lease lasts.

Possible values:

* 0: none may
* Any number of minutes up to a day
""",
    ),
    cfg.IntOpt(
        'end_timeout',
        min=1,
        default=600,
        help="""
Seconds that the end of a lease waits for its servers to be gone before the
lease is put to ERROR. What a reservation has as ``end_grace`` comes on top.

The hosts of the lease stay out of use until all of them are empty, and the end
goes on as soon as they are: an operator finds the reason in the lease's
``status_reason``. From then on what the lease holds counts against the limits
of its project at any time to come; nova-api reads it, too.

Possible values:

* Any number of seconds from 1
""",
    ),
    cfg.IntOpt(
        'unused_lease_timeout',
        min=0,
        max=36500 * 24 * 60,
        default=0,
        help="""
Minutes after its start at which a lease of hosts or slots is unused if
nova-scheduler has let no server into it.

A server that was let in once, and be it for a minute, makes a lease used until
its end. So does whatever else is on its hosts when they are looked at, such as
a server that was moved there by force. A lease that starts late has the time
from then on. Leases that lack hosts that have failed are never unused; nor are
those that servers carry (``lease_params``, guaranteed ones too), and windows
of maintenance.

Possible values:

* 0: leases are not looked at for this
* Any number of minutes up to 36500 days

Related options:

* ``unused_lease_action``
* ``polling_interval``: between two looks
""",
    ),
    cfg.StrOpt(
        'unused_lease_action',
        default='notify',
        choices=[
            ('notify', 'the notification lease.unused is sent, once'),
            ('end', 'it is sent, and the lease ends'),
        ],
        help="""
What is done with a lease that is unused.

It ends as at its end date, and its ``status_reason`` says why. At each look
ten are ended at the most; and none where more than 20, and more than half of
all active leases, are unused: then servers can't get into leases, most likely.

Possible values:

* ``notify`` or ``end``

Related options:

* ``unused_lease_timeout``
""",
    ),
]
