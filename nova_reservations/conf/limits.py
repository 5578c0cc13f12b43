# SPDX-License-Identifier: Apache-2.0
"""Limits: how long leases are, and how much a project may hold by them."""

from typing import Any

from oslo_config import cfg
from oslo_config import types

CONFIGURED = 'configured'
UNIFIED = 'unified'

_LONGEST = 36500 * 24 * 3600
"""Seconds: beyond it dates end."""


_OF_OTHER_OPTIONS = frozenset(
    {'physical:host', 'leases', 'waiting', 'hosts', 'slots', 'host_hours'}
)


class _Numbers(types.Dict):
    """Refuses names of what has options of its own."""

    def __call__(self, value: Any) -> dict[str, int]:
        numbers: dict[str, int] = super().__call__(value)
        for name in numbers:
            if name.partition('/')[0] in _OF_OTHER_OPTIONS:
                raise ValueError(
                    f'{name} is no type of resources beside hosts: there are '
                    'options of their own for hosts, slots and leases'
                )
        return numbers


OPTS = [
    cfg.IntOpt(
        'max_lease_duration',
        min=-1,
        max=_LONGEST,
        default=-1,
        help="""
The most seconds that a lease may last; the name is Blazar's.

It is refused to ask for more, and to prolong a lease beyond it.
Leases that are there when it is lowered stay as they are.

Possible values:

* -1: no limit
* 0: only exempt projects have leases
* Any number of seconds up to 36500 days

Related options:

* ``max_lease_duration_exempt_project_ids``
* ``reservation_extension_window``
""",
    ),
    cfg.ListOpt(
        'max_lease_duration_exempt_project_ids',
        default=[],
        help="""
Projects whose leases may be of any duration, and be prolonged at any time; the
name is Blazar's.

Possible values:

* Ids of projects, as keystone has them
""",
    ),
    cfg.IntOpt(
        'reservation_extension_window',
        min=-1,
        max=_LONGEST,
        default=-1,
        help="""
The last seconds of a lease in which it may be prolonged; the name is that of
Blazar at Chameleon.

A lease that has begun may be prolonged in them, each time by as much as
``max_lease_duration`` says, counted from its end until then; and not before,
which is refused. So others have a chance to ask for its hosts. If it
was shortened since it began, the latest end that it has had is meant.

Possible values:

* -1: a lease may be prolonged at any time, but never lasts longer than
  ``max_lease_duration`` in all
* Any number of seconds up to 36500 days

Related options:

* ``max_lease_duration``
* ``max_lease_duration_exempt_project_ids``
""",
    ),
    cfg.IntOpt(
        'max_start_ahead',
        min=-1,
        max=_LONGEST,
        default=-1,
        help="""
The most seconds from now on after which a lease may start.

Possible values:

* -1: no limit
* Any number of seconds up to 36500 days
""",
    ),
    cfg.StrOpt(
        'limits',
        default=CONFIGURED,
        choices=[
            (CONFIGURED, 'the same options below hold for each project'),
            (UNIFIED, 'keystone has the limits of each project'),
        ],
        help="""
Where the limits of a project are found.

With ``unified`` they are limits of the compute service in keystone, by these
names: ``reservations:leases``, ``reservations:waiting``,
``reservations:hosts``, ``reservations:slots``, ``reservations:host_hours``,
and ``reservations:`` before what ``max_reserved_resources`` has, as
``reservations:virtual:floatingip``. What has no registered limit, or one of
-1, is not limited. They are asked for as Nova asks for its own, by
``[oslo_limit]``, in nova-api and in nova-scheduler.

Possible values:

* ``configured``, ``unified``

Related options:

* ``[oslo_limit]``, of which ``timeout`` should be set
* ``limits_cache_time``
""",
    ),
    cfg.IntOpt(
        'limits_cache_time',
        min=0,
        max=3600,
        default=15,
        help="""
Seconds for which a process takes what keystone has said for what it would say,
if ``limits`` is ``unified``.

While keystone does not answer, the last that it has said holds on.

Possible values:

* 0: keystone is asked for each request
* 1 to 3600 seconds
""",
    ),
    cfg.IntOpt(
        'max_open_leases',
        min=-1,
        default=-1,
        help="""
The most leases that a project may have that are not over, if ``limits`` is
``configured``: those that wait, too.

Possible values:

* -1: no limit
* Any number
""",
    ),
    cfg.IntOpt(
        'max_waiting_leases',
        min=-1,
        default=-1,
        help="""
The most leases of a project that may wait for capacity at the same time, if
``limits`` is ``configured``.

Possible values:

* -1: no limit
* 0: leases of a project do not wait
* Any number
""",
    ),
    cfg.IntOpt(
        'max_reserved_hosts',
        min=-1,
        default=-1,
        help="""
The most hosts that leases of a project may hold at the same instant, if
``limits`` is ``configured``.

Possible values:

* -1: no limit
* Any number
""",
    ),
    cfg.IntOpt(
        'max_reserved_slots',
        min=-1,
        default=-1,
        help="""
The most slots for servers that leases of a project may hold at the same
instant, if ``limits`` is ``configured``.

Possible values:

* -1: no limit
* Any number
""",
    ),
    cfg.Opt(
        'max_reserved_resources',
        type=_Numbers(types.Integer(min=-1), key_value_separator='='),
        default={},
        help="""
The most resources of other types than hosts that leases of a project may hold
at the same instant, if ``limits`` is ``configured``.

Possible values:

* Pairs of a type of resources and a number, with commas between them, of whole
  resources: ``virtual:floatingip=10,virtual:network=2``
* The type may be followed by ``/`` and a resource class; then the number is of
  units of that which leases hold in shares: ``example:licence/SEATS=40``
* A number of -1 is no limit; nor is there one of what is not named
""",
    ),
    cfg.IntOpt(
        'max_host_hours',
        min=-1,
        default=-1,
        help="""
The most hours of hosts that leases of a project may hold from now on, if
``limits`` is ``configured``: each host counts the hours that it still has.

Possible values:

* -1: no limit
* Any number
""",
    ),
]
