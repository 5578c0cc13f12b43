# SPDX-License-Identifier: Apache-2.0
"""The lease that each server gets which asks for none."""

from oslo_config import cfg

OPTS = [
    cfg.BoolOpt(
        'default_reservation',
        default=False,
        help="""
Whether each server gets a lease: one that is not asked for with a lease of
its own, nor in a reservation, is leased from ``reservation_start_date`` for
``reservation_length_days``, ``reservation_length_hours`` and
``reservation_length_minutes``, and ends as ``instance_on_end`` says. Its
owner extends that lease as any other.

For clouds that reclaim what is forgotten. Servers that are there already get
none.

Possible values:

* True or False

Related options:

* ``resource_types`` must have ``virtual:server``
* ``default_reservation_exempt_projects``
* ``default_reservation_exempt_flavors``
""",
    ),
    cfg.StrOpt(
        'reservation_start_date',
        default='now',
        help="""
When the leases begin that servers get by ``default_reservation``.

Possible values:

* ``now``
* A date, as ``2030-01-31 12:00``, in UTC: servers that are asked for before
  are shelved until then; those after it have theirs from now on

Related options:

* ``default_reservation``
* ``[service_user]``: shelving needs it
""",
    ),
    cfg.IntOpt(
        'reservation_length_days',
        min=0,
        max=36500,
        default=30,
        help="""
How long the leases last that servers get by ``default_reservation``: its
days, to which its hours and minutes are added.

Possible values:

* Any number of days; not all three options can be 0
""",
    ),
    cfg.IntOpt(
        'reservation_length_hours',
        min=0,
        max=876000,
        default=0,
        help="""
The hours that are added to ``reservation_length_days``.

Possible values:

* Any number of hours
""",
    ),
    cfg.IntOpt(
        'reservation_length_minutes',
        min=0,
        max=52560000,
        default=0,
        help="""
The minutes that are added to ``reservation_length_days``.

Possible values:

* Any number of minutes
""",
    ),
    cfg.ListOpt(
        'default_reservation_exempt_projects',
        default=[],
        help="""
Projects whose servers get no lease by ``default_reservation``.

Possible values:

* Ids of projects
""",
    ),
    cfg.ListOpt(
        'default_reservation_exempt_flavors',
        default=[],
        help="""
Flavors of which servers get no lease by ``default_reservation``.

Possible values:

* Ids of flavors
""",
    ),
    cfg.IntOpt(
        'unshelve_timeout',
        min=0,
        default=600,
        help="""
Seconds after the start of a lease that a server carries, for which it is
tried to unshelve the server where no host has room for it.

It is tried once in a minute, and once in any case. After that the lease goes
to ERROR, with the reason; the server stays shelved, and is its owner's to
unshelve.

Possible values:

* Any number of seconds from 0
""",
    ),
]
